#include "engine/exec/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "engine/base/text.h"
#include "engine/exec/descriptor.h"

extern char** environ;

namespace berth {

namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Status(Code::kUnavailable, fmt::format("no pipe: {}", std::strerror(errno)));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// What posix_spawn wants, freed in the end.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::vector<std::string> whole_environment(const ProcessRequest& request) {
  std::vector<std::string> all;
  for (const auto& [name, value] : request.environment) all.push_back(name + "=" + value);
  const std::size_t added = all.size();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    bool is_replaced = false;
    for (std::size_t i = 0; i < added && !is_replaced; ++i) is_replaced = request.environment[i].first == name;
    if (!is_replaced) all.emplace_back(text);
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The streams of a running program.
class Conversation {
 public:
  Conversation(const ProcessRequest& request, Descriptor input, Descriptor output, Descriptor error)
      : request_(request), input_(std::move(input)), output_(std::move(output)), error_(std::move(error)) {
    for (const Descriptor* each : {&input_, &output_, &error_}) fcntl(each->get(), F_SETFL, O_NONBLOCK);
    if (request_.input.empty()) input_.reset();
  }

  // Until both streams are closed, the deadline has passed, or too much was said.
  enum class End { kClosed, kDeadline, kTooMuch };
  End run(Clock::time_point deadline, ProcessOutput& said) {
    while (output_.is_open() || error_.is_open()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return End::kDeadline;
      std::array<pollfd, 3> streams = {pollfd{output_.get(), POLLIN, 0}, pollfd{error_.get(), POLLIN, 0},
                                       pollfd{input_.get(), POLLOUT, 0}};
      if (poll(streams.data(), streams.size(), static_cast<int>(std::min<long long>(left, 1000))) < 0 && errno != EINTR)
        return End::kClosed;
      if (streams[0].revents != 0) read_some(output_, said.output);
      if (streams[1].revents != 0) read_some(error_, said.error);
      if (streams[2].revents != 0) write_some();
      if (std::max(said.output.size(), said.error.size()) > request_.most_output) return End::kTooMuch;
    }
    return End::kClosed;
  }

 private:
  static void read_some(Descriptor& from, std::string& into) {
    std::array<char, 65536> buffer;
    const ssize_t count = read(from.get(), buffer.data(), buffer.size());
    if (count > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      from.reset();
    }
  }
  void write_some() {
    const ssize_t count = write(input_.get(), request_.input.data() + written_, request_.input.size() - written_);
    if (count > 0) written_ += static_cast<std::size_t>(count);
    if (written_ == request_.input.size() || (count < 0 && errno != EAGAIN && errno != EINTR)) input_.reset();
  }

  const ProcessRequest& request_;
  Descriptor input_;
  Descriptor output_;
  Descriptor error_;
  std::size_t written_ = 0;
};

// A program that does not read its input must not end this process.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before_);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;
  ~NoBrokenPipe() { sigaction(SIGPIPE, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

// Its exit, once its streams are closed: it may go on without them, but not beyond the deadline. Nothing: the kernel
// did not keep it, as where this process was started with SIGCHLD ignored.
std::optional<int> wait_until(pid_t child, Clock::time_point deadline, bool& timed_out) {
  int status = 0;
  pid_t ended = 0;
  for (int pause_us = 50;; pause_us = std::min(pause_us * 2, 20000)) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    if (Clock::now() >= deadline) break;
    usleep(static_cast<useconds_t>(pause_us));
  }
  timed_out = true;
  kill(-child, SIGKILL);
  do {
    ended = waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended == child ? std::optional(status) : std::nullopt;
}

}  // namespace

std::string ProcessOutput::complaint(const std::string& program) const {
  if (timed_out) return fmt::format("{} did not answer in time", program);
  const std::string_view said = trim(error.empty() ? std::string_view(output) : std::string_view(error));
  if (said.empty()) return fmt::format("{} failed with exit code {}", program, exit_code);
  constexpr std::size_t kMost = 500;
  return fmt::format("{}: {}", program, said.size() > kMost ? said.substr(said.size() - kMost) : said);
}

Result<ProcessOutput> run_process(const ProcessRequest& request) {
  BERTH_ASSIGN(Pipe input, make_pipe());
  BERTH_ASSIGN(Pipe output, make_pipe());
  BERTH_ASSIGN(Pipe error, make_pipe());
  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(&settings.actions, input.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, output.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, error.write.get(), STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&settings.actions, 3);
  if (!request.working_directory.empty())
    posix_spawn_file_actions_addchdir_np(&settings.actions, request.working_directory.c_str());
  std::vector<std::string> words = request.command;
  std::vector<std::string> variables = whole_environment(request);
  std::optional<NoBrokenPipe> no_broken_pipe;  // not where nothing is written: several threads may be here
  if (!request.input.empty()) no_broken_pipe.emplace();
  const Clock::time_point deadline = Clock::now() + request.deadline;
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words.front().c_str(), &settings.actions, &settings.attributes,
                                  pointers(words).data(), pointers(variables).data());
  if (failed != 0) {
    return Status(failed == ENOENT ? Code::kNotFound : Code::kUnavailable,
                  fmt::format("'{}' cannot be started: {}", words.front(), std::strerror(failed)));
  }
  input.read.reset();
  output.write.reset();
  error.write.reset();
  ProcessOutput said;
  Conversation conversation(request, std::move(input.write), std::move(output.read), std::move(error.read));
  const Conversation::End end = conversation.run(deadline, said);
  if (end != Conversation::End::kClosed) kill(-child, SIGKILL);
  said.timed_out = end == Conversation::End::kDeadline;
  const std::optional<int> status = wait_until(child, deadline, said.timed_out);
  if (end == Conversation::End::kTooMuch)
    return Status(Code::kUnavailable, fmt::format("'{}' said more than {} bytes", words.front(), request.most_output));
  if (!status && !said.timed_out)
    return Status(Code::kUnavailable, fmt::format("how '{}' ended is unknown: SIGCHLD is ignored", words.front()));
  if (!status) return said;
  said.was_killed = WIFSIGNALED(*status);
  said.exit_code = said.was_killed ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
  return said;
}

}  // namespace berth
