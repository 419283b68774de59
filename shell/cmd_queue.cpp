// CREATE, ALTER and DROP of queues and priority classes.
#include "engine/store/queue_records.h"
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
    Status status = alter_queue(change, arguments.text("name"), alteration);
    // The name that is wrong is the queue's own, or the one it would get or hang below.
    for (const std::string_view argument : {"name", "parent", "new_name"}) {
      if (status.code() == Code::kNotFound && arguments.has(argument) &&
          status.message() == fmt::format("no queue '{}'", arguments.text(argument))) {
        return blame(std::move(status), arguments.span(argument));
      }
    }
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
     .summary = "Removes a queue without jobs, ended ones included, or queues below it.",
     .example = "DROP QUEUE search",
     .ask = ask_always},
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
