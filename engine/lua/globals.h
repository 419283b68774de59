// What a script finds in its globals, and how they are protected.
//
// A script's environment is an empty table whose metatable looks names up in the script's own globals, then in the
// library, and refuses what is in neither with the nearest name. Assignments go to the script's globals while it is
// loaded and are errors afterwards; the library's names can never be assigned. There is no rawset, getmetatable or
// debug, so nothing gets behind such a table.
#pragma once

struct lua_State;

namespace berth {

// Where the tables lie in the registry.
inline constexpr const char* kLibraryTable = "berth.library";
inline constexpr const char* kDefinedTable = "berth.defined";
inline constexpr const char* kEnvironment = "berth.environment";

// Makes the three and the allow-list in them. Raises Lua errors.
void install_globals(lua_State* lua);

// Replaces the table on top of the stack by an empty one that shows its fields and refuses to be changed. A field that
// is not there is nil, or, when strict, an error that says "<what> has no field ...". `what` must live on.
void protect_table(lua_State* lua, const char* what, bool strict);

// A field that the table on top of the stack lacks is an error from now on; it can still be changed.
void refuse_unknown_fields(lua_State* lua, const char* what);

}  // namespace berth
