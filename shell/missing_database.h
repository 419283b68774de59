// A batch whose database is not there: it makes one only to put something into it.
//
// A slip of the pen in a crontab would else make an empty database, run rounds on it and say that all is well. So until
// a statement begins one the session has no runtime, which HELP and the shell's own commands do not need.
#pragma once

#include <memory>
#include <string>

#include "engine/base/status.h"
#include "engine/runtime/runtime.h"
#include "shell/session.h"
#include "shell/session_factory.h"

namespace berth {

// `runtime` may be missing.
std::unique_ptr<Session> make_session(const SessionOptions& options, std::unique_ptr<Runtime> runtime);

// No file, or one without a byte, as a copy that failed leaves it: SQLite would make a database of that, too.
bool is_missing_database(const std::string& file);

// As open_session(), but makes no file.
Result<std::unique_ptr<Session>> open_batch_session(const SessionOptions& options);

// Before a statement of this row runs: makes the database where that is what the statement is for. kNotFound, with the
// nearest file there is, where the statement asks for one that is there.
Status find_database(Session& session, const CommandRow& row);

// After a run that failed: a database that it made and put nothing into is removed, as nobody meant it.
void remove_unused_database(Session& session);

}  // namespace berth
