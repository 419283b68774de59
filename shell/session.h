// One user at one database: what handlers work with.
//
// A session is opened by session_factory.h and used by one thread. It owns the runtime (the engine on this database)
// and knows the facts of the terminal; it does not read or print. Everything the framework needs from the engine comes
// through the three functions below, so that the shell's own tests run without an engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "shell/result.h"

namespace berth {

class Runtime;
class CommandTable;
struct CommandRow;
class Printer;

// Long work reports here; the terminal draws a line with an ETA, batch mode nothing.
class Progress {
 public:
  virtual ~Progress() = default;
  // `done` of `total` steps (total 0 = unknown). Cheap: call it as often as you like.
  virtual void report(std::string_view what, std::int64_t done, std::int64_t total) = 0;
  virtual void finish() {}
};

enum class OutputMode : std::uint8_t { kTable, kCsv, kJson, kJsonl, kMarkdown, kLine };

// How answers look.
struct Display {
  OutputMode mode = OutputMode::kTable;
  std::string null_text;           // of NULL in table, markdown, line and csv
  std::vector<int> column_widths;  // .width; 0 = as needed
  bool is_terminal = false;        // nothing that somebody else wrote may move its cursor
  int width = 0;                   // columns of the terminal; 0 = do not fit (a file, a pipe, a width not known)
  int height = 0;                  // lines of the terminal; 0 = no pager
  bool color = false;              // of data, on standard output
  bool color_messages = false;     // of errors, on standard error
  bool unicode = true;             // false: ASCII only (LC_ALL=C)
  bool timer = false;
};

struct Session {
  std::string database;  // path
  std::shared_ptr<Runtime> runtime;
  bool read_only = false;
  const CommandRow* planned = nullptr;  // PLAN <statement>: the row of the statement
  std::string script;                   // the Lua script whose statements run; empty = none

  // Any SELECT on a read-only connection. Errors carry the place where SQLite tells it.
  std::function<Result<ResultTable>(std::string_view sql)> run_sql;
  // The names of a listed kind ("node_type", "job", ...; "table" and "column" are SQL's; "column:jobs" those of one
  // table). At most a few thousand, those that start with `prefix`.
  std::function<std::vector<std::string>(std::string_view kind, std::string_view prefix)> names;

  // Asks a person before a destructive statement; not set in batch mode, where nobody is asked.
  std::function<bool(std::string_view question)> confirm;

  Display display;
  Progress* progress = nullptr;  // never null inside a handler
  std::atomic<bool>* interrupt =
      nullptr;  // set by Ctrl-C: long work looks at it and returns kInterrupted; never null inside a handler
  const CommandTable* commands = nullptr;  // for HELP; never null inside a handler
  Printer* printer = nullptr;              // for .output and .read; null in tests of handlers
  bool quit = false;                       // set by .quit
  bool keep_going = false;                 // scripts go on after an error
  int read_depth = 0;                      // files that .read one another
};

}  // namespace berth
