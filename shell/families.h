// The list of command families, in HELP's order. A new cmd_*.cpp adds its line in families.cpp.
#pragma once

#include <span>

#include "shell/commands.h"

namespace berth {

std::span<const CommandRow> shell_commands();  // cmd_shell.cpp: HELP and the dot commands
std::span<const CommandRow> sql_commands();    // cmd_sql.cpp: SELECT and its kin

std::span<const std::span<const CommandRow>> all_families();

// Built once; a wrong row ends the process with the reason (the unit tests build the table first).
const CommandTable& command_table();

}  // namespace berth
