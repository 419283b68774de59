// A small command table for the framework's own tests, with every feature of the notation.
#pragma once

#include "shell/commands.h"

namespace berth::example {

inline Result<Output> no_handler(Session&, const Arguments&) { return Output(); }

inline constexpr OptionRow kTypeOptions[] = {
    {.name = "cpu", .kind = "cpu", .default_value = "1", .minimum = "0.5", .maximum = "512", .sentence = "CPU cores."},
    {.name = "memory", .kind = "memory", .default_value = "1GiB", .sentence = "Memory."},
    {.name = "model", .kind = "device_model", .default_value = "", .sentence = "Device model."},
    {.name = "boot", .kind = "duration", .default_value = "5m", .sentence = "Time to boot."},
    {.name = "link", .kind = "none|nvlink|pcie", .default_value = "none", .sentence = "How devices are linked."},
    {.name = "spare", .kind = "boolean", .default_value = "false", .sentence = "Kept out of use."},
    {.name = "weight", .kind = "real", .default_value = "1.0", .minimum = "0", .sentence = "Preference."},
};
inline constexpr OptionRow kSubmitOptions[] = {
    {.name = "user", .kind = "user", .default_value = "", .sentence = "Who submits."},
    {.name = "time_limit", .kind = "duration", .default_value = "", .sentence = "Longest run."},
    {.name = "gpu", .kind = "gpu", .default_value = "", .sentence = "GPUs of a task.", .set = "task", .required = true},
    {.name = "count", .kind = "integer", .default_value = "1", .minimum = "1", .sentence = "Tasks.", .set = "task"},
    {.name = "models",
     .kind = "device_model",
     .default_value = "",
     .sentence = "Allowed models.",
     .set = "task",
     .many = true},
};

inline constexpr CommandRow kRows[] = {
    {.family = "cluster",
     .syntax = "CREATE NODE TYPE <name:new_name> [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = no_handler,
     .summary = "Describes a kind of node.",
     .example = "CREATE NODE TYPE a100x8 WITH (cpu = 96)",
     .options = kTypeOptions},
    {.family = "cluster",
     .syntax =
         "CREATE {NODE | NODES} <names:new_nodes>, ... TYPE <type:node_type> [IN POOL <pool:pool>] [RACK <rack:rack>]",
     .effect = Effect::kChanges,
     .handler = no_handler,
     .summary = "Adds nodes.",
     .example = "CREATE NODES train[001-064] TYPE a100x8"},
    {.family = "cluster",
     .syntax = "DROP NODE <name:node>",
     .effect = Effect::kChanges,
     .handler = no_handler,
     .summary = "Removes a node.",
     .example = "DROP NODE train001",
     .ask = ask_always},
    {.family = "cluster",
     .syntax = "SHOW NODES [<name:node>] [IN POOL <pool:pool>]",
     .handler = no_handler,
     .summary = "Lists nodes.",
     .example = "SHOW NODES IN POOL train"},
    {.family = "jobs",
     .syntax =
         "SUBMIT JOB <name:new_name> IN QUEUE <queue:queue> tasks:{TASKS (<options:task>)} ... [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = no_handler,
     .summary = "Submits a job.",
     .example = "SUBMIT JOB t IN QUEUE q TASKS (gpu = 8)",
     .options = kSubmitOptions},
    {.family = "run",
     .syntax = "SIMULATE USING pairs:{<score:score_policy> | <order:order_policy> + <score:score_policy>}, ... [INTO "
               "<into:new_name>]",
     .handler = no_handler,
     .summary = "Simulates.",
     .example = "SIMULATE USING fifo + berth, fgd INTO run1"},
    {.family = "run",
     .syntax = "APPLY PLAN <plan:integer>",
     .effect = Effect::kChanges,
     .handler = no_handler,
     .summary = "Applies a plan.",
     .example = "APPLY PLAN 3"},
    {.family = "settings",
     .syntax = "SET <key:setting> = <value:value>",
     .effect = Effect::kChanges,
     .handler = no_handler,
     .summary = "Sets.",
     .example = "SET order = fifo"},
    {.family = "sql",
     .syntax = "SELECT <query:sql>",
     .handler = no_handler,
     .summary = "Reads.",
     .example = "SELECT 1"},
    {.family = "help",
     .syntax = "HELP [<words:statement_word> ...]",
     .handler = no_handler,
     .summary = "Helps.",
     .example = "HELP SHOW"},
    {.family = "terminal",
     .syntax = ".mode [<mode:table|csv|json>]",
     .effect = Effect::kTerminal,
     .handler = no_handler,
     .summary = "Mode.",
     .example = ".mode csv"},
    {.family = "terminal",
     .syntax = ".read <file:file>",
     .effect = Effect::kTerminal,
     .handler = no_handler,
     .summary = "Reads a file.",
     .example = ".read a.sql"},
};

inline const CommandTable& table() {
  static const std::span<const CommandRow> families[] = {kRows};
  static const CommandTable built = *CommandTable::build(families);
  return built;
}

}  // namespace berth::example
