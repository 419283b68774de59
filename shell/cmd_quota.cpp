// What departments own: quotas, limits, weights, budgets.
#include <algorithm>

#include "engine/store/names.h"
#include "engine/store/quota_records.h"
#include "engine/store/resource_names.h"
#include "shell/families.h"
#include "shell/quota_warnings.h"

namespace berth {

namespace {

// The clauses of SET, as labels of their groups.
struct QuotaClause {
  std::string_view label;
  QuotaColumn column;
};
constexpr QuotaClause kQuotaClauses[] = {{"quota", QuotaColumn::kQuota},
                                         {"limit", QuotaColumn::kLimit},
                                         {"borrow_limit", QuotaColumn::kBorrowLimit},
                                         {"lend_limit", QuotaColumn::kLendLimit},
                                         {"weights", QuotaColumn::kWeight}};

// One `A100 = 16`. A name that nothing has any more can still be taken back.
Result<QuotaSetting> read_setting(const ResourceNames& names, QuotaColumn column, const Arguments& entry) {
  QuotaSetting setting{.column = column, .resource = entry.text("resource")};
  if (entry.has_word("NONE")) {
    setting.resource = names.stored(setting.resource).name;
    return setting;
  }
  Result<QuotaResource> resource = names.find(setting.resource);
  if (!resource.ok()) return blame(std::move(resource).status(), entry.span("resource"));
  setting.resource = resource->name;
  if (column == QuotaColumn::kWeight) {
    BERTH_ASSIGN(const Value weight, read_value(*find_kind("real"), entry.text("amount"), entry.span("amount")));
    setting.weight = weight.real;
    return setting;
  }
  Result<std::int64_t> amount = read_amount(resource->kind, entry.text("amount"));
  if (!amount.ok()) return blame(std::move(amount).status(), entry.span("amount"));
  setting.amount = *amount;
  return setting;
}

Result<std::vector<QuotaSetting>> read_settings_of(const ResourceNames& names, const Arguments& arguments) {
  std::vector<QuotaSetting> settings;
  for (const QuotaClause& clause : kQuotaClauses) {
    for (const Arguments& entry : arguments.groups(clause.label)) {
      BERTH_ASSIGN(QuotaSetting setting, read_setting(names, clause.column, entry));
      const bool twice = std::ranges::any_of(settings, [&](const QuotaSetting& earlier) {
        return earlier.column == setting.column && earlier.resource == setting.resource;
      });
      if (twice) {
        return entry.fail(
            "resource", Code::kInvalid,
            fmt::format("the {} of {} is given twice", quota_column_word(setting.column), setting.resource));
      }
      settings.push_back(std::move(setting));
    }
  }
  return settings;
}

std::optional<Seconds> time_of(const Arguments& arguments, std::string_view name) {
  return arguments.has(name) ? std::optional(arguments.time(name)) : std::nullopt;
}

// A lend limit of all GPUs of a queue that owns them by model says of none of them that it is kept.
Status add_lending_note(Session& session, const std::string& queue, Output& output) {
  BERTH_ASSIGN(Statement row,
               engine_of(session).db().prepare(
                   "SELECT group_concat(DISTINCT o.resource) FROM queues q JOIN quotas l ON l.queue_id = q.id AND "
                   "l.resource = 'gpu' AND l.lend_limit IS NOT NULL JOIN quotas o ON o.queue_id = q.id AND o.quota IS "
                   "NOT NULL AND o.resource NOT IN ('cpu', 'memory', 'gpu') WHERE q.name = ?1 AND NOT EXISTS (SELECT 1 "
                   "FROM quotas g WHERE g.queue_id = q.id AND g.resource = 'gpu' AND g.quota IS NOT NULL)"));
  if (row.with(queue).next() && !row.is_null(0)) {
    output.add_note(
        fmt::format("warning: queue {} owns {}, and no gpu: its LEND LIMIT of gpu keeps none of these for it; "
                    "say of which it does not lend",
                    queue, row.text(0)));
  }
  return row.status();
}

Result<Output> set_quota_statement(Session& session, const Arguments& arguments) {
  const std::string& queue = arguments.text("name");
  BERTH_ASSIGN(
      Output output,
      change_quotas(session, fmt::format("queue {} altered", queue),
                    [&](Change& change) -> Result<std::vector<std::string>> {
                      BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(change.db()));
                      BERTH_ASSIGN(const std::vector<QuotaSetting> settings, read_settings_of(names, arguments));
                      const QuotaPeriod period{.from = time_of(arguments, "from"), .to = time_of(arguments, "to")};
                      BERTH_TRY(arguments.point(set_quota(change, queue, settings, period), "name"));
                      std::vector<std::string> resources;
                      for (const QuotaSetting& setting : settings) resources.push_back(setting.resource);
                      return resources;
                    }));
  BERTH_TRY(add_lending_note(session, queue, output));
  return output;
}

Result<Output> reset_quota_statement(Session& session, const Arguments& arguments) {
  const std::string& queue = arguments.text("name");
  return change_quotas(session, fmt::format("queue {} altered", queue),
                       [&](Change& change) -> Result<std::vector<std::string>> {
                         BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(change.db()));
                         std::vector<std::string> resources;
                         for (const Value& value : arguments.list("resources")) {
                           resources.push_back(names.stored(value.text).name);
                         }
                         BERTH_ASSIGN(const std::vector<std::string> had, quota_resources_of(change.db(), queue));
                         BERTH_TRY(blame(reset_quota(change, queue, resources), arguments.span("name")));
                         return resources.empty() ? had : resources;
                       });
}

Result<Output> set_share_statement(Session& session, const Arguments& arguments) {
  ShareAlteration alteration;
  std::string_view blamed = "name";
  if (arguments.has("weight")) {
    alteration.weight = arguments.real("weight");
    blamed = "weight";
  }
  if (arguments.has("band")) {
    alteration.priority_band = arguments.integer("band");
    blamed = "band";
  }
  if (arguments.has("budget")) alteration.eviction_budget = arguments.integer("budget");
  if (arguments.has_word("NONE")) alteration.eviction_budget = -1;
  if (arguments.has("rightsizing")) alteration.rightsizing = arguments.text("rightsizing");
  return change_with_note(session, fmt::format("queue {} altered", arguments.text("name")), [&](Change& change) {
    Status status = alter_queue_share(change, arguments.text("name"), alteration);
    const bool about_name = status.code() == Code::kNotFound;
    return blame(std::move(status), arguments.span(about_name ? "name" : blamed));
  });
}

Result<Output> show_quotas(Session& session, const Arguments& arguments) {
  if (arguments.has("queue")) {
    BERTH_TRY(blame(find_id(engine_of(session).db(), Thing::kQueue, arguments.text("queue")).status(),
                    arguments.span("queue")));
  }
  BERTH_ASSIGN(const ResourceNames names, ResourceNames::read(engine_of(session).db()));
  BERTH_ASSIGN(
      Statement rows,
      engine_of(session).db().prepare(
          "SELECT q.name, o.resource, o.quota, o.limit_amount, o.borrow_limit, o.lend_limit, o.weight, "
          "datetime(o.valid_from, 'unixepoch'), datetime(o.valid_to, 'unixepoch') "
          "FROM quotas o JOIN queues q ON q.id = o.queue_id WHERE (?1 IS NULL OR q.name = ?1) "
          "ORDER BY q.id, CASE o.resource WHEN 'cpu' THEN 0 WHEN 'memory' THEN 1 WHEN 'gpu' THEN 2 ELSE 3 END, "
          "o.resource, coalesce(o.valid_from, o.valid_to) IS NOT NULL, o.valid_from, o.id"));
  rows.with(arguments.has("queue") ? std::optional(arguments.text("queue")) : std::nullopt);
  constexpr int kFirstAmount = 2;
  constexpr int kWeightColumn = 6;
  ResultTable table{.title = "",
                    .columns = {{"queue"},
                                {"resource"},
                                {"quota", Align::kRight},
                                {"limit", Align::kRight},
                                {"borrow_limit", Align::kRight},
                                {"lend_limit", Align::kRight},
                                {"weight"},
                                {"from"},
                                {"to"}},
                    .rows = {}};
  while (rows.next()) {
    const ResourceKind kind = names.stored(rows.text(1)).kind;
    std::vector<Cell>& row = table.rows.emplace_back();
    for (int column = 0; column < rows.column_count(); ++column) {
      if (rows.is_null(column)) {
        row.emplace_back(std::monostate());
      } else if (column == kWeightColumn) {
        row.emplace_back(rows.real(column));
      } else if (column >= kFirstAmount && column < kWeightColumn) {
        row.emplace_back(print_amount(kind, rows.integer(column)));
      } else {
        row.emplace_back(std::string(rows.text(column)));
      }
    }
  }
  BERTH_TRY(rows.status());
  return Output(std::move(table));
}

constexpr std::string_view kQuotaFamily = "quotas";

// clang-format off
#define BERTH_QUOTA_CLAUSE(label) "(" label ":{<resource:resource> = {<amount:amount> | NONE}}, ...)"
constexpr std::string_view kSetQuotaSyntax =
    "ALTER QUEUE <name:queue> SET {"
    "QUOTA " BERTH_QUOTA_CLAUSE("quota")
    " | LIMIT " BERTH_QUOTA_CLAUSE("limit")
    " | BORROW LIMIT " BERTH_QUOTA_CLAUSE("borrow_limit")
    " | LEND LIMIT " BERTH_QUOTA_CLAUSE("lend_limit")
    " | WEIGHT " BERTH_QUOTA_CLAUSE("weights")
    "} ... [FROM <from:time>] [TO <to:time>]";
#undef BERTH_QUOTA_CLAUSE
// clang-format on

constexpr CommandRow kQuotaRows[] = {
    {.family = kQuotaFamily,
     .syntax = kSetQuotaSyntax,
     .effect = Effect::kChanges,
     .handler = set_quota_statement,
     .summary = "Says what a queue owns of a resource, and how much it may hold, borrow and lend of it.",
     .example = "ALTER QUEUE search SET QUOTA (A100 = 16, T4 = 8.5, cpu = 512, memory = 2TiB) LIMIT (A100 = 32) "
                "FROM '2026-12-01' TO '2026-12-15'",
     .details =
         "Resources: cpu, memory, gpu (all devices together), a device model or a family of models. QUOTA is what "
         "a queue can always get back; LIMIT the most it may ever hold; BORROW LIMIT the most above its quota; "
         "LEND LIMIT the most that others may use of its quota; WEIGHT its part of what nobody's quota covers. "
         "Of what is not named nothing changes; NONE takes an amount back. With FROM or TO the amounts hold in "
         "that time, instead of those without. A quota of gpu covers the models of which the queue has none, also "
         "below a queue that has one. Quotas of models count as gpu, first for jobs on these models. "
         "What the cluster cannot honour, or a limit keeps from its owner, is accepted with a warning."},
    {.family = kQuotaFamily,
     .syntax = "ALTER QUEUE <name:queue> RESET QUOTA [OF <resources:resource>, ...]",
     .effect = Effect::kChanges,
     .handler = reset_quota_statement,
     .summary = "Takes back all that was said of a queue's quotas and limits, dated ones too.",
     .example = "ALTER QUEUE search RESET QUOTA OF A100, cpu",
     .ask = ask_always},
    {.family = kQuotaFamily,
     .syntax = "ALTER QUEUE <name:queue> SET {WEIGHT <weight:real> | PRIORITY BAND <band:integer> | EVICTION BUDGET "
               "{<budget:gpu_hours> | NONE} | RIGHTSIZE <rightsizing:off|wpai|histogram>}",
     .effect = Effect::kChanges,
     .handler = set_share_statement,
     .summary = "Says how a queue shares what nobody's quota covers, and what eviction may cost it.",
     .example = "ALTER QUEUE search SET EVICTION BUDGET 4",
     .details = "Surplus goes to higher priority bands first, within a band by weight. The eviction budget is the "
                "GPU-hours that its jobs may lose in an hour; NONE = as the setting says. RIGHTSIZE: whether jobs get "
                "what they were seen to use instead of what they ask for."},
    {.family = kQuotaFamily,
     .syntax = "SHOW QUOTAS [OF QUEUE <queue:queue>]",
     .effect = Effect::kReads,
     .handler = show_quotas,
     .summary = "What was said of quotas and limits, row by row, dated ones too.",
     .example = "SHOW QUOTAS OF QUEUE search"},
};

}  // namespace

std::span<const CommandRow> quota_commands() { return kQuotaRows; }

}  // namespace berth
