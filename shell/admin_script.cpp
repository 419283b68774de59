#include "shell/admin_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "engine/base/text.h"
#include "engine/lua/host.h"
#include "engine/runtime/runtime.h"
#include "shell/commands.h"
#include "shell/script.h"
#include "shell/script_api.h"

namespace berth {

namespace {

// While it lives, the session's interrupt flag is one that is set when the time is over, too.
class TimeLimit {
 public:
  TimeLimit(Session& session, Seconds limit) : session_(session), outer_(session.interrupt), limit_(limit) {
    if (limit <= Seconds(0)) return;
    watcher_ = std::thread([this] { watch(); });  // first: where it throws, nothing has changed
    session.interrupt = &stop_;
  }
  ~TimeLimit() {
    if (!watcher_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    done_.notify_all();
    watcher_.join();
    session_.interrupt = outer_;
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  bool is_over() const { return is_over_; }

 private:
  // How soon Ctrl-C gets through; it sets a flag that nobody can wait for.
  static constexpr std::chrono::milliseconds kLook{20};

  void watch() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(limit_.value());
    std::unique_lock lock(mutex_);
    while (!done_.wait_for(lock, kLook, [this] { return is_done_; })) {
      const bool is_over = std::chrono::steady_clock::now() >= deadline;
      if (!is_over && !outer_->load()) continue;
      is_over_ = is_over;
      stop_ = true;
      return;
    }
  }

  Session& session_;
  std::atomic<bool>* outer_;
  Seconds limit_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> is_over_{false};
  bool is_done_ = false;
  std::mutex mutex_;
  std::condition_variable done_;
  std::thread watcher_;
};

ScriptLimits limits_of(const AdminScript& script, const std::atomic<bool>* interrupt) {
  const std::int64_t memory = script.memory.value() << 20;
  return {.memory = memory,
          .instructions = INT64_MAX,
          .longest_text = std::min(memory / 4, std::int64_t{16} << 20),
          .pattern_steps = 100'000'000,
          .interrupt = interrupt};
}

// While it lives, statements are those of the script.
class InScript {
 public:
  InScript(Session& session, std::string name) : session_(session) { session_.script = std::move(name); }
  ~InScript() { session_.script.clear(); }
  InScript(const InScript&) = delete;
  InScript& operator=(const InScript&) = delete;

 private:
  Session& session_;
};

Status run_text(Session& session, ScriptHost& host, const std::string& name, const std::string& source) {
  BERTH_TRY(host.load(name, source));
  // A script may have caught what stopped its last statement.
  return session.interrupt->load() ? Status(Code::kInterrupted, name + ": interrupted") : Status();
}

Status run_whole(Session& session, ScriptHost& host, const AdminScript& script, const std::string& name,
                 const std::string& source) {
  if (!script.one_transaction) return run_text(session, host, name, source);
  BERTH_TRY(session.runtime->begin_transaction());
  const Status done = run_text(session, host, name, source);
  if (done.ok()) return session.runtime->commit_transaction();
  session.runtime->roll_back_transaction();
  return done;
}

// The script's error with the code of what failed.
Status failure_of(Session& session, const Status& failed, const ScriptApi& api, const TimeLimit& time,
                  const AdminScript& script) {
  std::string message = failed.message();
  constexpr std::string_view kInterrupted = "interrupted";
  const bool is_interrupted = session.interrupt->load() && message.ends_with(kInterrupted);
  if (is_interrupted && time.is_over()) {
    message.resize(message.size() - kInterrupted.size());
    message += fmt::format("took longer than {} (time_limit)", print_duration(script.time_limit));
  }
  if (is_interrupted) return Status(Code::kInterrupted, std::move(message));
  const Code code = api.code_of(message);
  return Status(code == Code::kInvalid ? failed.code() : code, std::move(message), failed.hint());
}

}  // namespace

Result<Output> run_admin_script(Session& session, const AdminScript& script) {
  if (!session.script.empty()) {
    return Status(Code::kInvalid, fmt::format("a script cannot run another: this is '{}'", session.script));
  }
  complete_session(session);
  BERTH_ASSIGN(std::string source, read_script_file(session, script.file));
  if (source.starts_with("#!")) source.insert(0, "--");  // its own program: a comment, which keeps the lines' numbers
  const std::string name = std::filesystem::path(script.file).filename().string();
  const InScript in_script(session, name);
  const TimeLimit time(session, script.time_limit);
  BERTH_ASSIGN(const std::unique_ptr<ScriptHost> host, ScriptHost::open(limits_of(script, session.interrupt)));
  ScriptApi api(session);
  BERTH_TRY(api.bind(*host, script.arguments));
  const Status done = run_whole(session, *host, script, name, source);
  if (!done.ok()) return failure_of(session, done, api, time, script);
  return std::move(api).answer();
}

}  // namespace berth
