#include "shell/commands.h"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "engine/runtime/runtime.h"
#include "engine/store/borrowing.h"
#include "shell/families.h"
#include "shell/missing_database.h"

namespace berth {

namespace {

class NoProgress : public Progress {
 public:
  void report(std::string_view, std::int64_t, std::int64_t) override {}
};

// False when a person said no.
Result<bool> ask_first(Session& session, const CommandTable::Call& call) {
  if (!session.confirm || call.row->ask == nullptr) return true;
  BERTH_ASSIGN(const std::string question, call.row->ask(session, call.arguments));
  return question.empty() || session.confirm(question);
}

// What may reach beyond the database cannot be rolled back.
Status check_in_transaction(const CommandRow& row) {
  if (row.effect == Effect::kReads || row.transactional || row.plans != nullptr || is_plannable(row)) return {};
  return Status(Code::kConflict, "this statement might not be rolled back, so it cannot stand in a transaction",
                "make it before or after");
}

std::string spoken_statement(const Session& session, const std::string& statement) {
  return session.script.empty() ? statement : fmt::format("{} (script {})", statement, session.script);
}

}  // namespace

void complete_session(Session& session) {
  static NoProgress no_progress;
  static std::atomic<bool> never_set{false};
  if (session.progress == nullptr) session.progress = &no_progress;
  if (session.interrupt == nullptr) session.interrupt = &never_set;
  if (session.commands == nullptr) session.commands = &command_table();
}

Result<std::string> ask_always(Session&, const Arguments& arguments) { return arguments.statement() + ": go ahead?"; }

Result<CommandTable> CommandTable::build(std::span<const std::span<const CommandRow>> families) {
  CommandTable table;
  for (const std::span<const CommandRow> family : families) {
    for (const CommandRow& row : family) {
      BERTH_TRY(table.grammar_.add(static_cast<int>(table.rows_.size()), row.syntax, row.options));
      table.rows_.push_back(&row);
    }
  }
  return table;
}

std::vector<const CommandRow*> CommandTable::listed_rows() const {
  std::vector<const CommandRow*> listed;
  for (const CommandRow* row : rows_) {
    if (row->plans == nullptr) listed.push_back(row);
  }
  return listed;
}

Result<CommandTable::Call> CommandTable::parse(std::string_view statement) const {
  BERTH_ASSIGN(Match match, grammar_.match(statement));
  return Call{rows_[static_cast<std::size_t>(match.row)], std::move(match.arguments)};
}

Status out_of_memory() {
  return Status(Code::kUnavailable, "there is not enough memory for this statement",
                "ask for less at a time; SHOW EVENTS tells whether anything was changed");
}

namespace {

Result<Output> execute_parsed(Session& session, std::string_view statement) {
  BERTH_ASSIGN(const CommandTable::Call call, session.commands->parse(statement));
  BERTH_TRY(find_database(session, *call.row));
  if (session.read_only && call.row->effect == Effect::kChanges) {
    return Status(Code::kConflict, "this session is read-only: the statement would change the database",
                  "start berth without --read-only");
  }
  BERTH_ASSIGN(const bool agreed, ask_first(session, call));
  if (!agreed) {
    Output declined = Output::note("not done");
    declined.failed = Code::kInterrupted;
    return declined;
  }
  session.planned = call.row->plans;
  if (session.runtime != nullptr) {
    if (session.runtime->in_transaction()) BERTH_TRY(check_in_transaction(*call.row));
    session.runtime->speak_for(spoken_statement(session, call.arguments.spoken()));
    if (call.row->effect == Effect::kReads && !session.runtime->read_only() && !session.runtime->in_transaction()) {
      BERTH_TRY(pass_dates_to_read(session.runtime->db(), session.runtime->now()));
    }
  }
  Result<Output> output = call.row->handler(session, call.arguments);
  session.progress->finish();
  if (!output.ok()) return call.arguments.point(std::move(output).status());
  BERTH_TRY(check_shape(*output));
  return output;
}

}  // namespace

Result<Output> execute(Session& session, std::string_view statement) {
  complete_session(session);
  // What the statement had begun is rolled back on the way here.
  try {
    return execute_parsed(session, statement);
  } catch (const std::bad_alloc&) {
    session.progress->finish();
    return out_of_memory();
  } catch (const std::length_error&) {
    session.progress->finish();
    return out_of_memory();
  } catch (const std::system_error& error) {  // as where no thread can be started
    session.progress->finish();
    return Status(Code::kUnavailable, fmt::format("the system refused: {}", error.what()));
  }
}

}  // namespace berth
