// Tables and answers as values of a script, and back.
//
// Rows are tables by column name; the list of them says in `columns` in which order, and in `title` what they are. NULL
// is nil, so a row lacks that field.
#pragma once

#include <string>
#include <vector>

#include "engine/lua/value.h"
#include "shell/result.h"

namespace berth {

ScriptValue script_value_of(const ResultTable& table);
// {rows = the first table, tables = all of them by title, notes, findings, plan = its number}: what programs get.
ScriptValue script_value_of(const Output& output);

// A list of rows to be shown: columns as named, else as the list says, else the fields by name. A column is a name or
// {name = ..., decimals = 2}.
Result<ResultTable> table_of_script(const ScriptValue& rows, const ScriptValue& columns);
// kInvalid for tables.
Result<Cell> cell_of_script(const ScriptValue& value);

// As Lua's tostring() writes it; of a table "table".
std::string print_script_cell(const ScriptValue& value);
// Lists are arrays, tables with fields objects; of a list that says its columns each row has all of them, null where
// it lacks one. kInvalid for a table that is both, a number that is none, a text that is not UTF-8.
Result<std::string> script_value_to_json(const ScriptValue& value);

}  // namespace berth
