// What EXPORT writes, IMPORT reads back: of random nodes and jobs every column that IMPORT can set is the same in a
// database that knew none of them, and its own export is the same to the byte.
#include "engine/base/env.h"
#include "engine/runtime/import.h"
#include "engine/store/settings.h"
#include "tests/unit/runtime/runtime_fixture.h"

namespace berth::test {
namespace {

constexpr const char* kNodes =
    "SELECT n.name, t.name, t.cpu_milli, t.memory_mib, coalesce(m.name, ''), coalesce(m.memory_mib, 0), m.speed, "
    "m.price_milli, m.family, "
    "t.device_count, "
    "t.link_groups, coalesce(p.name, ''), coalesce(n.rack, ''), n.state, n.labels, coalesce(d.reason, ''), (SELECT "
    "group_concat(device_index || health) FROM devices WHERE node_id = n.id) FROM nodes n JOIN node_types t ON t.id = "
    "n.type_id LEFT JOIN device_models m ON m.id = t.device_model_id LEFT JOIN pools p ON p.id = n.pool_id LEFT JOIN "
    "drains d ON d.node_id = n.id ORDER BY n.id";
constexpr const char* kJobs =
    "SELECT j.name, q.name, coalesce(c.name, ''), iif(EXISTS (SELECT 1 FROM dependencies b WHERE b.job_id = j.id AND "
    "b.state = 'broken'), 'held', j.state), j.user_name, j.submit_time, j.time_limit_s, "
    "j.allow_infeasible, j.tag, j.checkpoint_interval_s, j.checkpoint_grace_s, j.restart_cost_s, "
    "coalesce(j.min_runtime_s, "
    "-1), j.preemptible, coalesce(j.command, ''), j.working_directory, j.environment, j.image, j.checkpoint_signal, "
    "j.retry_limit, (SELECT group_concat(hex(a.name)) FROM dependencies x JOIN jobs a ON a.id = x.after_id WHERE "
    "x.job_id "
    "= j.id AND x.state <> 'broken') FROM jobs j JOIN queues q ON q.id = j.queue_id LEFT JOIN priority_classes c ON "
    "c.id "
    "= j.priority_class_id WHERE j.end_time IS NULL ORDER BY j.id";
constexpr const char* kGroups =
    "SELECT j.name, g.group_index, g.name, g.task_count, g.min_tasks, g.cpu_milli, g.memory_mib, g.gpu_count, "
    "g.gpu_milli, g.gpu_memory_mib, coalesce(g.models, ''), coalesce(p.name, ''), g.locality, g.locality_required FROM "
    "task_groups g JOIN jobs j ON j.id = g.job_id LEFT JOIN pools p ON p.id = g.pool_id WHERE j.end_time IS NULL ORDER "
    "BY "
    "j.id, 2";

// Columns of these tables that the file does not carry, and why not. Every other one must be among those compared, so a
// new column is either exported or named here.
struct ColumnLeftOut {
  std::string_view column;
  std::string_view why;
};
constexpr ColumnLeftOut kLeftOut[] = {
    {"nodes.id", "numbers are each database's own"},
    {"nodes.type_id", "compared by name"},
    {"nodes.pool_id", "compared by name"},
    {"node_types.id", "numbers are each database's own"},
    {"node_types.device_model_id", "compared by name"},
    {"device_models.id", "numbers are each database's own"},
    {"devices.node_id", "compared with their node"},
    {"drains.node_id", "compared with their node"},
    {"drains.since", "when this database began to"},
    {"drains.told_at", "what an executor of this database was told"},
};

class Export : public RuntimeTest {
 protected:
  static std::string rows(Database& db, const char* sql) {
    Statement statement = must_have(db.prepare(sql));
    std::string text;
    while (statement.next()) {
      for (int c = 0; c < statement.column_count(); ++c) text += std::string(statement.text(c)) + "\x1f";
      text += "\n";
    }
    EXPECT_OK(statement.status());
    return text;
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  std::int64_t below(std::uint64_t bound) { return static_cast<std::int64_t>(random_.below(bound)); }
  bool likely() { return random_.below(3) != 0; }
  // Text of what breaks tables: quotes, commas, formulas, bars, spaces, letters of many bytes.
  std::string text(std::string_view more = "") {
    static const std::vector<std::string> kParts = {"a", "b", "7",  "\"", ",",    ";",  "'",   "=",
                                                    "+", "-", "@",  "|",  "\\",   " ",  "é",   "中文",
                                                    "🚀", "#", "''", "'=", "=1+2", "no", "x|y", "\xE2\x80\xA2"};
    std::string made;
    for (std::int64_t n = 1 + below(6); n > 0; --n) {
      if (!more.empty() && random_.below(4) == 0) {
        made += more[random_.below(more.size())];
      } else {
        made += kParts[random_.below(kParts.size())];
      }
    }
    return made;
  }
  std::string name() { return fmt::format("{}x{}{}", text(), ++names_, text()); }
  std::string name_without_range() {
    std::string made = name();
    std::erase_if(made, [](char c) { return c == ',' || c == '[' || c == ']' || c == '|'; });
    return made;
  }

  void add_random_nodes(Change& c) {
    const std::string rack = text();
    const std::string model = name_without_range();
    EXPECT_OK(add_device_model(c, {.name = model,
                                   .memory = MiB(likely() ? below(99999) : 0),
                                   .speed = static_cast<double>(1 + below(1000)) / 7,
                                   .family = likely() ? name() : "",
                                   .price_milli = likely() ? std::optional(below(9999)) : std::nullopt}));
    EXPECT_OK(add_node_type(c, {.name = "'=odd\"type",
                                .cpu = MilliCpu(1 + below(99999)),
                                .memory = MiB(1 + below(99999)),
                                .device_model = model,
                                .device_count = 5}));
    EXPECT_OK(add_node_type(c, {.name = "same as cpu", .cpu = MilliCpu(64000), .memory = MiB(262144)}));
    for (int i = 0; i < 8; ++i) {
      NodeRequest node{.name = name_without_range(), .type = random_.below(2) == 0 ? "'=odd\"type" : "same as cpu"};
      if (likely()) node.pool = "main";
      if (likely()) node.rack = rack;
      for (std::int64_t n = below(3); n > 0; --n) node.labels.emplace_back(name(), text("\n\t\r"));
      const std::string names[] = {node.name};
      EXPECT_OK(add_nodes(c, {&node, 1}));
      if (node.type != "same as cpu" && likely())
        EXPECT_OK(set_device_health(c, node.name, 0b10110, Health::kUnhealthy));
      if (!likely()) EXPECT_OK(drain_nodes(c, names, text()));
      if (!likely()) EXPECT_OK(order_node_state(c, names, NodeState::kDown));
      if (!likely()) {
        const Status booted = order_node_state(c, names, NodeState::kBooting);
        EXPECT_TRUE(booted.ok() || booted.code() == Code::kConflict) << booted.message();
      }
    }
  }

  TaskGroupRequest random_group() {
    TaskGroupRequest asked = group(1 + below(4), below(3));
    asked.name = name();
    if (likely()) asked.min_tasks = 1 + below(static_cast<std::uint64_t>(asked.count));
    asked.cpu = MilliCpu(1 + below(3000));
    asked.memory = MiB(1 + below(5000));
    if (asked.gpu_count == 1 && likely()) asked.gpu_milli = MilliGpu(1 + below(1000));
    if (asked.gpu_count > 0 && likely()) asked.gpu_memory = MiB(1 + below(5000));
    if (asked.gpu_count > 0 && likely()) asked.models = {"A100", "T4"};
    if (!likely()) asked.pool = "main";
    asked.locality = static_cast<Locality>(below(4));
    asked.locality_required = likely();
    return asked;
  }

  void add_random_jobs(Change& c) {
    std::vector<std::string> before;
    for (int i = 0; i < 12; ++i) {
      JobRequest request = job(name(), {});
      request.queue = likely() ? "train" : "serve";
      if (likely()) request.priority_class = "high";
      request.user = text();
      if (likely()) request.tag = text();
      request.time_limit = Seconds(below(100000));
      request.held = !likely();
      request.allow_infeasible = true;
      request.submit_time = Seconds(below(1800000000));
      request.terms = {.preemptible = likely(),
                       .checkpoint_every = Seconds(below(1000)),
                       .checkpoint_grace = Seconds(below(1000)),
                       .restart_cost = Seconds(below(1000))};
      if (likely()) request.terms.min_runtime = Seconds(below(1000));
      for (const std::string& other : before) {
        if (random_.below(4) == 0) request.terms.after.push_back(other);
      }
      if (likely()) {
        request.command = {.command = text("\n\t\r;$"),
                           .working_directory = "/" + text(),
                           .image = text(),
                           .checkpoint_signal = "USR1",
                           .retries = below(5)};
        for (std::int64_t n = below(3); n > 0; --n)
          request.command.environment.emplace_back(fmt::format("V{}", ++names_), text("\n\t\r\x01"));
      }
      for (std::int64_t n = 1 + below(3); n > 0; --n) request.groups.push_back(random_group());
      before.push_back(request.name);
      EXPECT_OK(submit_job(c, request).status());
    }
    // Others wait for ever after those.
    for (const std::string& name : before) {
      if (random_.below(6) == 0) EXPECT_OK(cancel_job(c, must_have(find_job(c.db(), name))));
    }
  }

  void expect_round_trip(std::uint64_t seed) {
    SCOPED_TRACE(seed);
    random_ = Random(seed);
    const std::string from = fmt::format("from{}.db", seed);
    const std::string to = fmt::format("to{}.db", seed);
    {
      Database db = open(from);
      fill(db);
    }
    std::unique_ptr<Runtime> source =
        must_have(Runtime::open({.database = path(from), .actor = "tester", .env = &env_, .seed = {}}));
    EXPECT_OK(source
                  ->change([&](Change& c) -> Status {
                    add_random_nodes(c);
                    add_random_jobs(c);
                    return {};
                  })
                  .status());
    const std::string nodes = must_have(export_nodes(*source));
    const std::string jobs = must_have(export_jobs(*source)).csv;

    {
      Database db = open(to);
      EXPECT_OK(change(db, [](Change& c) -> Status {
        BERTH_TRY(add_queue(c, {"all", ""}));
        BERTH_TRY(add_queue(c, {"train", "all"}));
        BERTH_TRY(add_queue(c, {"serve", "all"}));
        return add_priority_class(c, {"high", 100});
      }));
    }
    std::unique_ptr<Runtime> target =
        must_have(Runtime::open({.database = path(to), .actor = "tester", .env = &env_, .seed = {}}));
    ImportOptions options;
    options.create_missing = true;
    options.keep_times = true;
    EXPECT_OK(import_nodes(*target, write("nodes.csv", nodes), options).status());
    EXPECT_OK(import_jobs(*target, write("jobs.csv", jobs), options).status());
    EXPECT_EQ(rows(target->db(), kNodes), rows(source->db(), kNodes));
    EXPECT_EQ(rows(target->db(), kJobs), rows(source->db(), kJobs));
    EXPECT_EQ(rows(target->db(), kGroups), rows(source->db(), kGroups));
    EXPECT_EQ(must_have(export_nodes(*target)), nodes);
    EXPECT_EQ(must_have(export_jobs(*target)).csv, jobs);
    expect_no_formulas(nodes);
    expect_no_formulas(jobs);
  }

  // By a reader of its own: no field begins with what a spreadsheet takes for a formula, but a negative number.
  static void expect_no_formulas(const std::string& csv) {
    bool begins = true;
    bool is_quoted = false;
    for (std::size_t i = 0; i < csv.size(); ++i) {
      if (begins) {
        is_quoted = csv[i] == '"';
        const char first = csv[is_quoted ? i + 1 : i];
        EXPECT_EQ(std::string("=+-@\t\r").find(first), std::string::npos) << csv.substr(i, 40);
      } else if (csv[i] == '"') {
        is_quoted = !is_quoted;
      }
      begins = !is_quoted && (csv[i] == ',' || csv[i] == '\n');
    }
  }

  Random random_{1};
  int names_ = 0;
};

TEST_F(Export, EveryColumnOfANodeIsCompared) {
  Database db = open("columns.db");
  const std::string compared(kNodes);
  const std::pair<std::string_view, std::string_view> kTables[] = {
      {"nodes", "n."}, {"node_types", "t."}, {"device_models", "m."}, {"devices", ""}, {"drains", "d."}};
  for (const auto& [table, alias] : kTables) {
    Statement rows = must_have(db.prepare("SELECT name FROM pragma_table_info(?1)"));
    rows.with(table);
    while (rows.next()) {
      const std::string column = fmt::format("{}.{}", table, rows.text(0));
      if (std::ranges::find(kLeftOut, column, &ColumnLeftOut::column) != std::end(kLeftOut)) continue;
      EXPECT_NE(compared.find(fmt::format("{}{}", alias, rows.text(0))), std::string::npos) << column;
    }
    EXPECT_OK(rows.status());
  }
}

TEST_F(Export, ImportIsItsInverse) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) expect_round_trip(seed);
}

}  // namespace
}  // namespace berth::test
