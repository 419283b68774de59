// Completion inside SQL: from the words around the cursor, without parsing.
//
// After FROM, JOIN and their commas come tables; after `name.` the columns of that table or alias; elsewhere keywords,
// functions and the columns of the tables that the statement names (of all tables while it names none).
#pragma once

#include <string_view>

#include "shell/complete.h"

namespace berth {

Completion complete_sql(std::string_view statement, std::size_t cursor);

}  // namespace berth
