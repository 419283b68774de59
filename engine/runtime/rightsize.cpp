#include "engine/runtime/rightsize.h"

#include <map>

#include "engine/store/run_usage_records.h"

namespace berth {

namespace {

constexpr std::string_view kUsualPolicy = "histogram";

// The last run of each recurrence group: SQLite takes the bare columns from the row with the greatest end.
constexpr std::string_view kLastRuns =
    "WITH RECURSIVE below (id) AS (SELECT id FROM queues WHERE id = ?1 "
    "UNION SELECT q.id FROM queues q JOIN below b ON q.parent_id = b.id), "
    "last (recurrence, run_id, group_index, end_time) AS (SELECT recurrence, run_id, group_index, max(end_time) FROM "
    "run_usage WHERE recurrence <> 0 GROUP BY recurrence) "
    "SELECT q.name, q.rightsizing, j.tag, j.user_name, g.name, g.task_count, g.models, "
    "coalesce(a.cpu_milli, g.cpu_milli), coalesce(a.memory_mib, g.memory_mib), coalesce(a.gpu_count, g.gpu_count), "
    "coalesce(a.gpu_milli, g.gpu_milli), coalesce(a.gpu_memory_mib, g.gpu_memory_mib) "
    "FROM last l JOIN runs r ON r.id = l.run_id JOIN jobs j ON j.id = r.job_id JOIN queues q ON q.id = j.queue_id "
    "JOIN task_groups g ON g.job_id = j.id AND g.group_index = l.group_index "
    "LEFT JOIN requested_amounts a ON a.job_id = j.id AND a.group_index = l.group_index "
    "WHERE ?1 IS NULL OR j.queue_id IN (SELECT id FROM below) "
    "ORDER BY q.name, j.tag, j.user_name, g.name, g.task_count, 10";

RightsizedGroup group_of(const Statement& row, const Catalog& catalog) {
  RightsizedGroup group;
  group.queue = row.text(0);
  group.tag = row.text(2);
  group.user = row.text(3);
  group.group = row.text(4);
  group.tasks = row.integer(5);
  if (!row.is_null(6)) group.asked.models = catalog.models_of(row.text(6));
  group.asked.cpu = row.quantity<MilliCpu>(7);
  group.asked.memory = row.quantity<MiB>(8);
  group.asked.gpu_count = static_cast<std::int32_t>(row.integer(9));
  group.asked.gpu_milli = row.quantity<MilliGpu>(10);
  group.asked.gpu_memory = row.quantity<MiB>(11);
  return group;
}

}  // namespace

Result<std::vector<RightsizedGroup>> plan_rightsizing(Database& db, const RightsizeQuestion& question, Seconds now) {
  BERTH_ASSIGN(const Transaction one_view, Transaction::begin_read(db));
  BERTH_ASSIGN(const Catalog catalog, Catalog::read(db));
  std::map<std::string, GroupRightsizer, std::less<>> rightsizers;
  BERTH_ASSIGN(Statement rows, db.prepare(kLastRuns));
  rows.with(question.queue);
  std::vector<RightsizedGroup> groups;
  while (rows.next()) {
    RightsizedGroup group = group_of(rows, catalog);
    const std::string of_queue(rows.text(1));
    group.policy = !question.policy.empty() ? question.policy : of_queue != "off" ? of_queue : kUsualPolicy;
    group.applied = group.policy == of_queue;
    auto rightsizer = rightsizers.find(group.policy);
    if (rightsizer == rightsizers.end()) {
      BERTH_ASSIGN(GroupRightsizer opened, GroupRightsizer::open(db, catalog, group.policy, now));
      rightsizer = rightsizers.emplace(group.policy, std::move(opened)).first;
    }
    BERTH_ASSIGN(group.next, rightsizer->second.size({group.tag, group.user, group.group, group.tasks, group.asked}));
    groups.push_back(std::move(group));
  }
  BERTH_TRY(rows.status());
  return groups;
}

}  // namespace berth
