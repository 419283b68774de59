// A live round through SQLite, each part beside its bound in the same run.
//
//   live_round [NODES] [RUNNING TASKS] [PENDING JOBS] [FOLDER] [OWNERS]
//
// default 10000 50000 100000, the temporary folder, 0: with owners there are so many queues, each with quotas of GPUs
// and of one model.
//
// Builds a database with a seeded generator (8 devices a node), then times
// - load beside a bare scan of the same tables: every column of every row through sqlite3_step;
// - the plan;
// - apply beside a bare insert of the same rows - placements, changed jobs, decisions, round, event - in one
// transaction,
//   into tables with the same columns, keys and content, without triggers, checks, foreign keys and state indexes;
// - the cluster's totals beside bare counts;
// - keeping the round's record (store/round_records.h) beside load, plan and apply together, and what it weighs.
// Two rounds: the first, in which every waiting job gets a reason, and a later one, after a twentieth of the running
// jobs ended. Medians of five, as wall time and as processor time, which a busy machine disturbs less.

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/env.h"
#include "engine/policy/registry.h"
#include "engine/policy/workload.h"
#include "engine/round/schedule.h"
#include "engine/store/apply.h"
#include "engine/store/backup.h"
#include "engine/store/change.h"
#include "engine/store/check.h"
#include "engine/store/cluster_records.h"
#include "engine/store/history_recorder.h"
#include "engine/store/job_records.h"
#include "engine/store/load.h"
#include "engine/store/open.h"
#include "engine/store/queue_records.h"
#include "engine/store/quota_records.h"
#include "engine/store/settings.h"
#include "engine/store/totals.h"

namespace berth {
namespace {

constexpr int kRepeats = 5;
constexpr Seconds kNow{1700000000};

struct Sizes {
  std::int64_t nodes = 10000;
  std::int64_t running = 50000;
  std::int64_t pending = 100000;
  std::int64_t owners = 0;
};

void stop_on(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "live_round: {}\n", status.message());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  stop_on(result.status());
  return *std::move(result);
}

// Wall time and the processor time of this process.
struct Time {
  double wall = 0;
  double processor = 0;
};

Time now_of_both() {
  timespec processor{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor);
  return {std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(),
          static_cast<double>(processor.tv_sec) + static_cast<double>(processor.tv_nsec) * 1e-9};
}

Time time_of(const std::function<void()>& work) {
  const Time begin = now_of_both();
  work();
  const Time end = now_of_both();
  return {end.wall - begin.wall, end.processor - begin.processor};
}

double median(const std::vector<Time>& times, double Time::*part) {
  std::vector<double> values;
  for (const Time& time : times) values.push_back(time.*part * 1e3);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print_row(const std::string& what, const std::vector<Time>& ours, const std::vector<Time>& bound) {
  const auto ratio = [&](double Time::*part) { return median(ours, part) / median(bound, part); };
  fmt::print("{:<28} {:>8.1f} ms  bound {:>8.1f} ms  {:>6.2f} x   processor {:>8.1f} / {:>8.1f} ms  {:>6.2f} x\n", what,
             median(ours, &Time::wall), median(bound, &Time::wall), ratio(&Time::wall), median(ours, &Time::processor),
             median(bound, &Time::processor), ratio(&Time::processor));
}

// ---- the database ---------------------------------------------------------------------------------------------------

class Generator {
 public:
  Generator(Database& db, const Sizes& sizes) : db_(db), sizes_(sizes), random_(42) {}

  void build() {
    stop_on(add_cluster());
    stop_on(add_running());
    stop_on(add_pending());
  }

 private:
  template <class Body>
  Status statement(Body&& body) {
    BERTH_ASSIGN(Change change, Change::begin(db_, "bench", kNow));
    BERTH_TRY(body(change));
    return change.commit().status();
  }

  Status add_cluster() {
    return statement([&](Change& change) -> Status {
      for (const char* pool : {"train", "serve", "shared"}) BERTH_TRY(add_pool(change, pool));
      for (const char* model : {"H100", "A100", "L40S", "T4"})
        BERTH_TRY(add_device_model(change, {model, MiB(81920), 1.0}));
      for (const char* model : {"H100", "A100", "L40S", "T4"}) {
        BERTH_TRY(
            add_node_type(change, {to_type(model), MilliCpu(128000), MiB(1048576), model, 8, "[0 1 2 3] [4 5 6 7]"}));
      }
      std::vector<NodeRequest> nodes;
      for (std::int64_t i = 0; i < sizes_.nodes; ++i) {
        constexpr const char* kModels[] = {"H100", "A100", "A100", "L40S", "T4"};
        constexpr const char* kPools[] = {"train", "serve", "shared"};
        nodes.push_back({fmt::format("node{:05}", i),
                         to_type(kModels[random_.below(5)]),
                         kPools[random_.below(3)],
                         fmt::format("rack{:03}", i / 16),
                         {}});
      }
      BERTH_TRY(add_nodes(change, nodes));
      for (std::int64_t i = 0; i < queues(); ++i) BERTH_TRY(add_queue(change, {queue_name(i), ""}));
      for (std::int64_t i = 0; i < sizes_.owners; ++i) BERTH_TRY(set_quotas(change, i));
      BERTH_TRY(add_priority_class(change, {"low", -10}));
      return add_priority_class(change, {"high", 10});
    });
  }

  std::int64_t queues() const { return sizes_.owners > 0 ? sizes_.owners : 20; }
  static std::string queue_name(std::int64_t i) { return fmt::format("queue{:02}", i); }

  // All GPUs are somebody's, a third of them as quota of A100.
  Status set_quotas(Change& change, std::int64_t i) const {
    const std::int64_t share = sizes_.nodes * 8 * kWholeDevice.value() / sizes_.owners;
    const QuotaSetting settings[] = {{.resource = "gpu", .amount = share}, {.resource = "A100", .amount = share / 3}};
    return set_quota(change, queue_name(i), settings);
  }

  static std::string to_type(const std::string& model) { return model + "x8"; }

  JobRequest random_job(std::int64_t most_tasks) {
    JobRequest job;
    job.queue = queue_name(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(queues()))));
    const std::uint64_t importance = random_.below(10);
    if (importance < 2) job.priority_class = importance == 0 ? "high" : "low";
    job.submit_time = kNow - Seconds(static_cast<std::int64_t>(random_.below(100000)));
    job.groups.push_back(random_group(most_tasks));
    return job;
  }

  TaskGroupRequest random_group(std::int64_t most_tasks) {
    constexpr std::int64_t kCpus[] = {1000, 4000, 8000, 12000};
    TaskGroupRequest group;
    group.cpu = MilliCpu(kCpus[random_.below(4)]);
    group.memory = MiB(group.cpu.value() * 8);
    const std::uint64_t kind = random_.below(20);
    group.gpu_count = kind < 2 ? 0 : kind < 15 ? 1 : kind < 18 ? 2 : kind < 19 ? 4 : 8;
    if (kind >= 2 && kind < 8) group.gpu_milli = MilliGpu(100 * static_cast<std::int64_t>(1 + random_.below(9)));
    if (group.gpu_count > 0 && random_.below(4) == 0) group.models = {"H100", "A100"};
    if (random_.below(5) == 0)
      group.count = 1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most_tasks)));
    return group;
  }

  // Jobs that run, placed by a round of first-fit's speedy relative, until `running` tasks do.
  Status add_running() {
    std::int64_t tasks = 0;
    const auto submit_all = [&](Change& change) -> Status {
      BERTH_ASSIGN(Submitter submitter, Submitter::make(change));
      while (tasks < sizes_.running) {
        JobRequest job = random_job(8);
        job.groups[0].count = std::min(job.groups[0].count, sizes_.running - tasks);
        tasks += job.groups[0].count;
        BERTH_TRY(submitter.submit(job).status());
      }
      return submitter.finish();
    };
    BERTH_TRY(statement(submit_all));
    BERTH_ASSIGN(Loaded loaded, load_state(db_, {.now = kNow}));
    loaded.snapshot.order_policy = "fifo";
    loaded.snapshot.score_policy = "best_fit";
    BERTH_ASSIGN(ScheduleResult planned, plan_schedule(loaded.snapshot));
    planned.plan.waiting.clear();
    BERTH_ASSIGN(const ApplyResult applied, apply_plan(db_, planned.plan, {.actor = "bench", .now = kNow}));
    fmt::print("running: {} of {} tasks placed\n", applied.placed_tasks, tasks);
    return {};
  }

  Status add_pending() {
    return statement([&](Change& change) -> Status {
      BERTH_ASSIGN(Submitter submitter, Submitter::make(change));
      for (std::int64_t i = 0; i < sizes_.pending; ++i) BERTH_TRY(submitter.submit(random_job(16)).status());
      return submitter.finish();
    });
  }

  Database& db_;
  Sizes sizes_;
  Random random_;
};

// ---- bounds ---------------------------------------------------------------------------------------------------------

// Plain SQLite, none of our classes.
std::int64_t read_every_column(Database& db, const std::string& sql) {
  sqlite3_stmt* rows = nullptr;
  if (sqlite3_prepare_v2(db.handle(), sql.c_str(), -1, &rows, nullptr) != SQLITE_OK)
    stop_on(db.error(SQLITE_ERROR, "prepare"));
  const int columns = sqlite3_column_count(rows);
  std::int64_t sum = 0;
  while (sqlite3_step(rows) == SQLITE_ROW) {
    for (int column = 0; column < columns; ++column) {
      if (sqlite3_column_type(rows, column) == SQLITE_TEXT) {
        sum += sqlite3_column_text(rows, column)[0];
      } else {
        sum += sqlite3_column_int64(rows, column);
      }
    }
  }
  sqlite3_finalize(rows);
  return sum;
}

void scan_tables(Database& db) {
  for (const char* table : {"nodes", "allocations", "jobs", "task_groups", "queues", "priority_classes"}) {
    read_every_column(db, std::string("SELECT * FROM ") + table);
  }
}

void count_tables(Database& db) {
  for (const char* table : {"nodes", "allocations", "jobs", "devices"})
    must(db.integer(std::string("SELECT count(*) FROM ") + table));
}

// Rows of a round, read back from the database in which it was applied, written again to bare tables of a fresh copy of
// the database as it was before.
class BareInsert {
 public:
  BareInsert(Database& before, const std::string& after) : db_(before) {
    for (const char* table : {"allocations", "jobs", "decisions", "rounds", "events"}) make_bare(table);
    stop_on(
        db_.execute("INSERT INTO bare_allocations SELECT * FROM allocations;"
                    "CREATE UNIQUE INDEX bare_task ON bare_allocations (job_id, group_index, task_index)"));
    Database applied = must(open_state(after));
    read_rows(applied, "allocations", "WHERE round_id = (SELECT max(id) FROM rounds)");
    read_rows(applied, "jobs",
              "WHERE id IN (SELECT job_id FROM decisions WHERE round_id = (SELECT max(id) FROM rounds))");
    read_rows(applied, "decisions", "WHERE round_id = (SELECT max(id) FROM rounds)");
    read_rows(applied, "rounds", "WHERE id = (SELECT max(id) FROM rounds)");
    read_rows(applied, "events", "WHERE id = (SELECT max(id) FROM events)");
  }

  std::size_t rows() const { return rows_.size(); }

  void run() {
    sqlite3* connection = db_.handle();
    std::vector<sqlite3_stmt*> inserts(sql_.size());
    sqlite3_exec(connection, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    for (std::size_t i = 0; i < sql_.size(); ++i)
      sqlite3_prepare_v2(connection, sql_[i].c_str(), -1, &inserts[i], nullptr);
    for (const Row& row : rows_) {
      for (std::size_t i = 0; i < row.cells.size(); ++i)
        bind(inserts[row.table], static_cast<int>(i) + 1, row.cells[i]);
      if (sqlite3_step(inserts[row.table]) != SQLITE_DONE) stop_on(db_.error(sqlite3_errcode(connection), "insert"));
      sqlite3_reset(inserts[row.table]);
    }
    for (sqlite3_stmt* insert : inserts) sqlite3_finalize(insert);
    if (sqlite3_exec(connection, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) {
      stop_on(db_.error(sqlite3_errcode(connection), "commit"));
    }
  }

 private:
  using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;
  struct Row {
    std::size_t table;
    std::vector<Cell> cells;
  };

  // The same columns and primary key, nothing else.
  void make_bare(const std::string& table) {
    std::vector<std::string> columns;
    std::string keys;
    Statement info = must(db_.prepare("SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid"));
    info.with(table);
    int key_count = 0;
    while (info.next()) {
      columns.push_back(fmt::format("{} {}", info.text(0), info.text(1)));
      if (info.integer(2) == 0) continue;
      keys += (keys.empty() ? "" : ", ") + std::string(info.text(0));
      ++key_count;
    }
    stop_on(info.status());
    std::string list;
    std::string parameters;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      list += columns[i] + ", ";
      parameters += fmt::format("{}?{}", i == 0 ? "" : ", ", i + 1);
    }
    stop_on(db_.execute(fmt::format("CREATE TABLE bare_{} ({}PRIMARY KEY ({})) STRICT{}", table, list, keys,
                                    key_count > 1 ? ", WITHOUT ROWID" : "")));
    sql_.push_back(fmt::format("INSERT OR REPLACE INTO bare_{} VALUES ({})", table, parameters));
    tables_.push_back(table);
  }

  void read_rows(Database& from, const std::string& table, const std::string& condition) {
    const auto index = static_cast<std::size_t>(std::find(tables_.begin(), tables_.end(), table) - tables_.begin());
    Statement rows = must(from.prepare(fmt::format("SELECT * FROM {} {}", table, condition)));
    while (rows.next()) {
      Row row{index, {}};
      for (int i = 0; i < rows.column_count(); ++i) {
        switch (rows.type(i)) {
          case CellType::kInteger: row.cells.emplace_back(rows.integer(i)); break;
          case CellType::kReal: row.cells.emplace_back(rows.real(i)); break;
          case CellType::kText: row.cells.emplace_back(std::string(rows.text(i))); break;
          default: row.cells.emplace_back(); break;
        }
      }
      rows_.push_back(std::move(row));
    }
    stop_on(rows.status());
  }

  static void bind(sqlite3_stmt* insert, int parameter, const Cell& cell) {
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
      sqlite3_bind_int64(insert, parameter, *integer);
    } else if (const auto* real = std::get_if<double>(&cell)) {
      sqlite3_bind_double(insert, parameter, *real);
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      sqlite3_bind_text(insert, parameter, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
    } else {
      sqlite3_bind_null(insert, parameter);
    }
  }

  Database& db_;
  std::vector<std::string> tables_;
  std::vector<std::string> sql_;
  std::vector<Row> rows_;
};

// ---- measuring ------------------------------------------------------------------------------------------------------

std::string in_folder(const std::string& folder, const std::string& name) { return folder + "/" + name; }

void remove_database(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
}

Loaded load_for_planning(Database& db, Seconds now) {
  Loaded loaded = must(load_state(db, {.now = now}));
  std::vector<WorkloadTask> tasks;
  for (const ShapeCount& count : loaded.shapes) tasks.push_back({count.shape, count.models_text, count.tasks});
  loaded.snapshot.workload = typical_workload(tasks);
  return loaded;
}

// The default where it is built in, else its older relative.
std::string score_policy() { return check_policy_name(PolicyKind::kScore, "berth").ok() ? "berth" : "fgd"; }

void measure_load(Database& db) {
  std::vector<Time> ours;
  std::vector<Time> scan;
  std::vector<Time> totals;
  std::vector<Time> counts;
  for (int i = 0; i < kRepeats; ++i) {
    scan.push_back(time_of([&] { scan_tables(db); }));
    ours.push_back(time_of([&] { must(load_state(db, {.now = kNow})); }));
    counts.push_back(time_of([&] { count_tables(db); }));
    totals.push_back(time_of([&] { must(cluster_totals(db)); }));
  }
  print_row("load / scan", ours, scan);
  print_row("cluster totals / count(*)", totals, counts);
}

// On a fresh copy of the database.
Time time_of_apply_without_history(const std::string& before, const std::string& copy, const Plan& plan, Seconds now,
                                   const std::vector<LastReason>& last_reasons) {
  remove_database(copy);
  stop_on(copy_database(before, copy));
  Database db = must(open_state(copy));
  Change change = must(Change::begin(db, "bench", kNow));
  stop_on(set_setting(change, "record_history", "false"));
  must(change.commit());
  Plan moved = plan;
  ++moved.version;
  must(load_state(db, {.now = kNow}));
  return time_of([&] { must(apply_plan(db, moved, {.actor = "bench", .now = now, .last_reasons = last_reasons})); });
}

// Plans once, then applies the plan to fresh copies of the database; the last copy stays at `applied`.
void measure_round(const std::string& name, Seconds now, const std::string& before, const std::string& applied) {
  Plan plan;
  RoundRecord record;
  Time load_and_plan;
  std::vector<LastReason> last_reasons;
  {
    Database db = must(open_state(before));
    measure_load(db);
    Loaded loaded;
    load_and_plan = time_of([&] { loaded = load_for_planning(db, now); });
    loaded.snapshot.score_policy = score_policy();
    ScheduleResult planned;
    const Time time = time_of([&] { planned = must(plan_schedule(loaded.snapshot)); });
    load_and_plan.wall += time.wall;
    load_and_plan.processor += time.processor;
    plan = std::move(planned.plan);
    record = record_of(loaded.snapshot, plan);
    last_reasons = std::move(loaded.last_reasons);
    fmt::print("{:<28} {:>8.1f} ms  processor {:>8.1f} ms  ({} + {})\n", "plan", time.wall * 1e3, time.processor * 1e3,
               plan.order_policy, plan.score_policy);
  }
  const std::string bare = applied + "-bare";
  std::vector<Time> ours;
  std::vector<Time> bound;
  std::vector<Time> recording;
  std::vector<Time> rounds;
  std::vector<Time> without_history;
  HistoryCost history;
  WrittenRecord written;
  std::size_t rows = 0;
  ApplyResult result;
  for (int i = 0; i < kRepeats; ++i) {
    without_history.push_back(time_of_apply_without_history(before, applied, plan, now, last_reasons));
    remove_database(applied);
    stop_on(copy_database(before, applied));
    {
      Database db = must(open_state(applied));
      must(load_state(db, {.now = kNow}));  // as in a round: what is needed is in the cache
      ours.push_back(time_of(
          [&] { result = must(apply_plan(db, plan, {.actor = "bench", .now = now, .last_reasons = last_reasons})); }));
      history = history_cost(db);
      rounds.push_back({ours.back().wall + load_and_plan.wall, ours.back().processor + load_and_plan.processor});
      recording.push_back(time_of([&] {
        Transaction transaction = must(Transaction::begin_write(db));
        written = must(write_round_record(db, record, now));
        stop_on(transaction.commit());
      }));
      recording.back().wall += record.seconds;
      recording.back().processor += record.seconds;
    }
    remove_database(bare);
    stop_on(copy_database(before, bare));
    Database db = must(open_state(bare));
    BareInsert insert(db, applied);
    scan_tables(db);
    bound.push_back(time_of([&] { insert.run(); }));
    rows = insert.rows();
  }
  remove_database(bare);
  print_row("apply / insert", ours, bound);
  print_row("apply / without history", ours, without_history);
  print_row("record / round", recording, rounds);
  const auto share = [&](double Time::*part) {
    return 100 * (median(ours, part) - median(without_history, part)) / median(rounds, part);
  };
  fmt::print(
      "  history: {:.1f} % of the round ({:.1f} % of its processor time), {:.1f} ms of it at the commit; {} KiB "
      "for {} rows\n",
      share(&Time::wall), share(&Time::processor), history.seconds * 1e3, history.bytes >> 10, history.changes);
  fmt::print("  record: {} KiB new; encoded in {:.1f} ms\n", written.new_bytes >> 10, record.seconds * 1e3);
  fmt::print("  {}: {} tasks placed, {} jobs started, {} wait, {} of them for a new reason; {} rows written\n\n", name,
             result.placed_tasks, result.started_jobs, result.waiting_jobs, result.changed_reasons, rows);
}

// A twentieth of the running jobs ends.
void end_some_jobs(const std::string& path) {
  Database db = must(open_state(path));
  Change change = must(Change::begin(db, "bench", kNow + Seconds(120)));
  std::vector<std::int64_t> jobs;
  {
    Statement rows = must(db.prepare("SELECT id FROM jobs WHERE state = 'running' AND id % 20 = 0 ORDER BY id"));
    while (rows.next()) jobs.push_back(rows.integer(0));
  }
  for (const std::int64_t job : jobs) stop_on(end_job(change, job, JobState::kFinished));
  stop_on(change.commit().status());
}

void build_database(const std::string& path, const Sizes& sizes) {
  // In a process of its own, so that the peak memory reported is that of the rounds.
  const pid_t child = ::fork();
  if (child == 0) {
    const Time time = time_of([&] {
      Database db = must(open_state(path));
      Generator(db, sizes).build();
      stop_on(db.execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    });
    fmt::print("built in {:.1f} s, {} MiB\n", time.wall, std::filesystem::file_size(path) >> 20);
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
}

void measure_opening(const std::string& path) {
  std::vector<Time> fresh;
  std::vector<Time> again;
  for (int i = 0; i < kRepeats; ++i) {
    remove_database(path);
    fresh.push_back(time_of([&] { must(open_state(path)); }));
    again.push_back(time_of([&] { must(open_state(path)); }));
  }
  fmt::print("open: a new database {:.2f} ms, an empty one again {:.2f} ms\n", median(fresh, &Time::wall),
             median(again, &Time::wall));
  remove_database(path);
}

int run(int count, char** arguments) {
  Sizes sizes;
  if (count > 1) sizes.nodes = std::atoll(arguments[1]);
  if (count > 2) sizes.running = std::atoll(arguments[2]);
  if (count > 3) sizes.pending = std::atoll(arguments[3]);
  if (count > 5) sizes.owners = std::atoll(arguments[5]);
  const std::string parent = count > 4 ? arguments[4] : std::filesystem::temp_directory_path().string();
  const std::string folder = fmt::format("{}/berth-live-round-{}", parent, ::getpid());
  std::filesystem::create_directories(folder);

  fmt::print("{} nodes of 8 devices, {} running tasks, {} pending jobs\n", sizes.nodes, sizes.running, sizes.pending);
  std::fflush(stdout);
  const std::string start = in_folder(folder, "start.db");
  const std::string first = in_folder(folder, "first.db");
  const std::string later = in_folder(folder, "later.db");
  measure_opening(in_folder(folder, "empty.db"));
  std::fflush(stdout);
  build_database(start, sizes);
  fmt::print("\n");
  measure_round("first round", kNow + Seconds(60), start, first);
  end_some_jobs(first);
  measure_round("later round", kNow + Seconds(180), first, later);
  {
    Database db = must(open_state(later));
    std::vector<Finding> findings;
    const Time time = time_of([&] { findings = must(check_state(db)); });
    fmt::print("check: {} findings in {:.0f} ms\n", findings.size(), time.wall * 1e3);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("peak memory {} MiB\n", usage.ru_maxrss / 1024);
  if (std::getenv("BERTH_KEEP") == nullptr) std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace berth

int main(int count, char** arguments) { return berth::run(count, arguments); }
