// CREATE, ALTER and DROP of queues and priority classes; SHOW QUEUES.
#include <map>

#include "engine/store/queue_records.h"
#include "engine/store/resource_names.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

Result<Output> create_queue(Session& session, const Arguments& arguments) {
  const QueueRequest request{.name = arguments.text("name"), .parent = arguments.text_or("parent", "")};
  return change_with_note(session, fmt::format("queue {} created", request.name), [&](Change& change) {
    Status status = add_queue(change, request);
    const bool about_parent = arguments.has("parent") && status.code() != Code::kExists;
    return blame(std::move(status), arguments.span(about_parent ? "parent" : "name"));
  });
}

Result<Output> alter_queue_statement(Session& session, const Arguments& arguments) {
  QueueAlteration alteration;
  if (arguments.has("new_name")) alteration.name = arguments.text("new_name");
  if (arguments.has("parent")) alteration.parent = arguments.text("parent");
  if (arguments.has_word("ROOT")) alteration.parent = "";
  return change_with_note(session, fmt::format("queue {} altered", arguments.text("name")), [&](Change& change) {
    Status status = arguments.point(alter_queue(change, arguments.text("name"), alteration));
    const std::string_view other = arguments.has("new_name") ? "new_name" : arguments.has("parent") ? "parent" : "name";
    return blame(std::move(status), arguments.span(other));
  });
}

Result<Output> drop_queue_statement(Session& session, const Arguments& arguments) {
  return change_with_note(session, fmt::format("queue {} dropped", arguments.text("name")), [&](Change& change) {
    return blame(drop_queue(change, arguments.text("name")), arguments.span("name"));
  });
}

Result<Output> create_priority_class(Session& session, const Arguments& arguments) {
  const PriorityClassRequest request{.name = arguments.text("name"), .value = arguments.integer("value")};
  return change_with_note(session, fmt::format("priority class {} created", request.name), [&](Change& change) {
    return blame(add_priority_class(change, request), arguments.span("name"));
  });
}

Result<Output> alter_priority_class_statement(Session& session, const Arguments& arguments) {
  return change_with_note(
      session, fmt::format("priority class {} is now {}", arguments.text("name"), arguments.integer("value")),
      [&](Change& change) {
        return blame(alter_priority_class(change, arguments.text("name"), arguments.integer("value")),
                     arguments.span("name"));
      });
}

Result<Output> drop_priority_class_statement(Session& session, const Arguments& arguments) {
  return change_with_note(session, fmt::format("priority class {} dropped", arguments.text("name")),
                          [&](Change& change) {
                            return blame(drop_priority_class(change, arguments.text("name")), arguments.span("name"));
                          });
}

// ---- SHOW QUEUES

// Depth first, so that the tree reads from top to bottom.
constexpr std::string_view kQueueTree =
    "WITH RECURSIVE tree (id, depth, path) AS (SELECT id, 0, name FROM queues WHERE parent_id IS NULL UNION ALL SELECT "
    "q.id, t.depth + 1, t.path || char(1) || q.name FROM tree t JOIN queues q ON q.parent_id = t.id) "
    "SELECT u.queue, u.parent, u.jobs_pending AS waiting, u.jobs_held AS held, u.jobs_running AS running, "
    "u.tasks_running AS tasks, u.gpu_used_milli / 1000.0 AS gpus_used, u.cpu_used_milli / 1000.0 AS cpu_used, t.depth "
    "FROM tree t JOIN queue_usage u ON u.queue_id = t.id ORDER BY t.path";
constexpr std::size_t kDepthColumn = 8;

std::string indented_queue(const std::vector<Cell>& row) {
  const auto depth = static_cast<std::size_t>(std::get<std::int64_t>(row[kDepthColumn]));
  return std::string(depth * 2, ' ') + std::get<std::string>(row[0]);
}

ResultTable queues_without_quotas(const ResultTable& tree) {
  ResultTable table = tree;
  table.columns.pop_back();
  for (std::vector<Cell>& row : table.rows) {
    row.front() = indented_queue(row);
    row.pop_back();
  }
  return table;
}

// A line a queue and resource, narrow enough for a terminal of 100 columns.
Result<ResultTable> queues_with_quotas(Session& session, const ResultTable& tree) {
  ResultTable table{.title = "queues",
                    .columns = {{"queue"},
                                {"waiting", Align::kRight},
                                {"running", Align::kRight},
                                {"resource"},
                                {"quota", Align::kRight},
                                {"used", Align::kRight},
                                {"of quota"},
                                {"borrowed", Align::kRight},
                                {"lent", Align::kRight},
                                {"pending", Align::kRight}},
                    .rows = {}};
  constexpr int kMeterWidth = 8;
  Database& db = engine_of(session).db();
  BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(db));
  BERTH_ASSIGN(Statement rows,
               db.prepare("SELECT queue, resource, quota, allocated, borrowed, lent, pending FROM queue_standing ORDER "
                          "BY queue_id, CASE resource WHEN 'cpu' THEN 1 WHEN 'memory' THEN 2 ELSE 0 END, resource"));
  std::map<std::string, std::vector<std::vector<Cell>>> standings;  // by queue; from "resource" on
  while (rows.next()) {
    const ResourceKind kind = names.stored(rows.text(1)).kind;
    const auto amount = [&](int column) -> Cell { return print_amount(kind, rows.integer(column)); };
    const auto unless_zero = [&](int column) { return rows.integer(column) == 0 ? Cell("") : amount(column); };
    const std::int64_t quota = rows.integer(2);
    const std::int64_t used = rows.integer(3);
    const std::string meter = quota > 0 ? draw_meter(static_cast<double>(used) / static_cast<double>(quota),
                                                     kMeterWidth, session.display.unicode)
                                        : std::string();
    standings[std::string(rows.text(0))].push_back(
        {std::string(rows.text(1)), amount(2), amount(3), meter, unless_zero(4), unless_zero(5), unless_zero(6)});
  }
  BERTH_TRY(rows.status());
  for (const std::vector<Cell>& queue : tree.rows) {
    std::vector<Cell> first = {indented_queue(queue), queue[2], queue[4]};
    for (std::vector<Cell>& standing : standings[std::get<std::string>(queue[0])]) {
      std::vector<Cell>& row = table.rows.emplace_back(first);
      row.insert(row.end(), standing.begin(), standing.end());
      first = {"", "", ""};
    }
  }
  return table;
}

// Queues that wait for what is theirs, the longest first.
Status add_starving_notes(Session& session, Output& output) {
  BERTH_ASSIGN(Statement rows,
               engine_of(session).db().prepare(
                   "SELECT s.queue, group_concat(s.resource, ', '), min(s.starving_since) FROM "
                   "queue_standing s WHERE s.starving_since IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "
                   "queues c WHERE c.parent_id = s.queue_id) GROUP BY s.queue_id ORDER BY 3, s.queue_id"));
  while (rows.next()) {
    output.add_note(fmt::format("{}: jobs within its quota of {} wait since {}", rows.text(0), rows.text(1),
                                print_time(rows.quantity<Seconds>(2))));
  }
  return rows.status();
}

Result<Output> show_queues(Session& session, const Arguments& arguments) {
  (void)arguments;
  BERTH_ASSIGN(ResultTable tree, query_table(session, kQueueTree));
  BERTH_ASSIGN(ResultTable standings, query_table(session, "SELECT * FROM queue_standing ORDER BY queue_id, resource"));
  Output output;
  tree.title = "queues";
  standings.title = "standings";
  if (standings.rows.empty()) {
    ResultTable for_people = queues_without_quotas(tree);
    for_people.title.clear();
    output.add(std::move(for_people), Audience::kPeople);
    output.add(std::move(tree), Audience::kPrograms);
    output.add(std::move(standings), Audience::kPrograms);
    return output;
  }
  BERTH_ASSIGN(ResultTable for_people, queues_with_quotas(session, tree));
  output.add(std::move(for_people), Audience::kPeople);
  output.add(std::move(tree), Audience::kPrograms);
  output.add(std::move(standings), Audience::kPrograms);
  BERTH_TRY(add_starving_notes(session, output));
  return output;
}

constexpr std::string_view kQueueFamily = "queues";

constexpr CommandRow kQueueRows[] = {
    {.family = kQueueFamily,
     .syntax = "CREATE QUEUE <name:new_name> [UNDER <parent:queue>]",
     .effect = Effect::kChanges,
     .handler = create_queue,
     .summary = "Makes a queue - a department, a team - at the root or under another one; only leaves hold jobs.",
     .example = "CREATE QUEUE search UNDER company"},
    {.family = kQueueFamily,
     .syntax = "ALTER QUEUE <name:queue> {RENAME TO <new_name:new_name> | UNDER <parent:queue> | TO ROOT}",
     .effect = Effect::kChanges,
     .handler = alter_queue_statement,
     .summary = "Renames a queue or moves it in the tree.",
     .example = "ALTER QUEUE search UNDER research"},
    {.family = kQueueFamily,
     .syntax = "DROP QUEUE <name:queue>",
     .effect = Effect::kChanges,
     .handler = drop_queue_statement,
     .summary = "Removes a queue without live jobs or queues below it.",
     .example = "DROP QUEUE search",
     .details = "Jobs of it that have ended go with it; what the accounts say of it stays.",
     .ask = ask_always},
    {.family = kQueueFamily,
     .syntax = "SHOW QUEUES",
     .effect = Effect::kReads,
     .handler = show_queues,
     .summary = "The queue tree with the jobs and use of each branch, and how it stands with its quotas.",
     .example = "SHOW QUEUES",
     .details = "Amounts of a queue are those of its branch. Borrowed: used above quota; lent: idle quota that others "
                "use; pending: what waiting jobs ask for. View queue_standing has more."},
    {.family = kQueueFamily,
     .syntax = "CREATE PRIORITY CLASS <name:new_name> VALUE <value:integer>",
     .effect = Effect::kChanges,
     .handler = create_priority_class,
     .summary = "Makes a priority class; jobs of a higher value go first.",
     .example = "CREATE PRIORITY CLASS urgent VALUE 10"},
    {.family = kQueueFamily,
     .syntax = "ALTER PRIORITY CLASS <name:priority_class> VALUE <value:integer>",
     .effect = Effect::kChanges,
     .handler = alter_priority_class_statement,
     .summary = "Changes the value of a priority class.",
     .example = "ALTER PRIORITY CLASS urgent VALUE 20"},
    {.family = kQueueFamily,
     .syntax = "DROP PRIORITY CLASS <name:priority_class>",
     .effect = Effect::kChanges,
     .handler = drop_priority_class_statement,
     .summary = "Removes a priority class that no job has, ended ones included.",
     .example = "DROP PRIORITY CLASS urgent",
     .ask = ask_always},
};

}  // namespace

std::span<const CommandRow> queue_commands() { return kQueueRows; }

}  // namespace berth
