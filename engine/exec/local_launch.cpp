#include "engine/exec/local_launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/exec/descriptor.h"
#include "engine/exec/done_file.h"
#include "engine/exec/plain_file.h"

extern char** environ;

namespace berth {

namespace {

// A file without a name: unlike a pipe it takes the whole order before anybody reads.
Result<Descriptor> order_file(const SupervisorOrder& order) {
  Descriptor file(memfd_create("berth-order", MFD_CLOEXEC));
  if (!file.is_open()) return file_error("memfd");
  const std::string text = print_order(order);
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t size = write(file.get(), text.data() + written, text.size() - written);
    if (size <= 0) return file_error("memfd");
    written += static_cast<std::size_t>(size);
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// Its one argument beside the flag is for who reads `ps`.
Result<pid_t> spawn_supervisor(const std::string& program, const std::string& title, int order, int reply) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // `reply` may be a standard descriptor's number, or `order` the reply's: first out of the way, to where nothing is.
  const int aside = std::max({order, reply, kSupervisorReply}) + 1;
  posix_spawn_file_actions_adddup2(&actions, reply, aside);
  posix_spawn_file_actions_adddup2(&actions, order, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, aside, kSupervisorReply);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, kSupervisorReply + 1);
  std::string flag(kSupervisorArgument);
  std::string name = title;
  std::string path = program;
  std::array<char*, 4> words = {path.data(), flag.data(), name.data(), nullptr};
  // It is no part of the job that may have called Berth, nor are its tasks (see own_descendants): it names no task.
  std::string no_task = std::string(kDoneVariable) + "=";
  std::vector<char*> variables = {no_task.data()};
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with(no_task)) variables.push_back(*each);
  }
  variables.push_back(nullptr);
  pid_t child = -1;
  const int error = posix_spawn(&child, path.c_str(), &actions, nullptr, words.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  return Status(Code::kUnavailable, fmt::format("{} cannot be started: {}", program, std::strerror(error)));
}

// To the end of the pipe, which closes with the last claim.
Result<std::string> read_reply(int pipe, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::string reply;
  std::array<char, 4096> piece;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd wait = {pipe, POLLIN, 0};
    const int ready = left > 0 ? poll(&wait, 1, static_cast<int>(std::min<long long>(left, INT32_MAX))) : 0;
    if (ready == 0) return Status(Code::kUnavailable, "the supervisor of the tasks did not answer in time");
    if (ready < 0) continue;
    const ssize_t size = read(pipe, piece.data(), piece.size());
    if (size > 0) reply.append(piece.data(), static_cast<std::size_t>(size));
    if (size == 0) return reply;
    if (size < 0 && errno != EINTR) return file_error("pipe");
  }
}

}  // namespace

Result<std::string> start_supervisor(const std::string& program, const SupervisorOrder& order,
                                     std::chrono::milliseconds timeout) {
  BERTH_ASSIGN(const Descriptor file, order_file(order));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return file_error("pipe");
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const std::string title = fmt::format("{}{}", order.tasks.front().key, order.tasks.size() > 1 ? " ..." : "");
  BERTH_ASSIGN(const pid_t child, spawn_supervisor(program, title, file.get(), writing.get()));
  writing.reset();
  Result<std::string> reply = read_reply(reading.get(), timeout);
  // It leaves its parent at once; one that hangs before that is not waited for.
  while (waitpid(child, nullptr, reply.ok() ? 0 : WNOHANG) < 0 && errno == EINTR) {
  }
  return reply;
}

}  // namespace berth
