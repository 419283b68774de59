#include "engine/exec/local_start.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "engine/base/private_folder.h"
#include "engine/exec/local_record.h"
#include "engine/exec/plain_file.h"

namespace berth {

namespace {

Status open_log(int descriptor, const std::string& path) {
  BERTH_ASSIGN(const Descriptor file, open_plain_file(path, O_WRONLY | O_CREAT | O_APPEND));
  const int flags = fcntl(file.get(), F_GETFL);
  const bool is_done =
      flags >= 0 && fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) == 0 && dup2(file.get(), descriptor) == descriptor;
  return is_done ? Status() : file_error(path);
}

// Ignored signals would stay ignored in the command, blocked ones blocked.
void restore_signals() {
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

struct StartProblem {
  Status status;
  bool is_jobs = false;
};

// Until exec; returns only what stopped it.
StartProblem become_task(const SupervisedTask& task, const Descriptor& record, const TaskLimits& limits,
                         pid_t supervisor) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(127);
  setsid();
  const Descriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.is_open() || dup2(null.get(), STDIN_FILENO) != STDIN_FILENO) return {file_error("/dev/null")};
  Status logs = open_log(STDOUT_FILENO, task.folder + "/stdout");
  if (logs.ok()) logs = open_log(STDERR_FILENO, task.folder + "/stderr");
  if (!logs.ok()) return {std::move(logs)};
  const bool is_own_folder = task.directory == local_work_folder(task.folder);
  if (is_own_folder && !make_folders(task.directory)) return {file_error(task.directory)};
  if (chdir(task.directory.c_str()) != 0) return {file_error("working directory " + task.directory), !is_own_folder};
  std::vector<char*> environment;
  for (const std::string& variable : task.environment) environment.push_back(const_cast<char*>(variable.c_str()));
  environment.push_back(nullptr);
  std::array<char*, 5> words = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("--"),
                                const_cast<char*>(task.command.c_str()), nullptr};
  if (!write_start(record, {own_process_mark(), Seconds(time(nullptr))})) return {file_error(task.folder + "/record")};
  if (Status entered = limits.enter(); !entered.ok()) return {std::move(entered)};
  prctl(PR_SET_PDEATHSIG, 0);
  restore_signals();
  execve("/bin/sh", words.data(), environment.data());
  const bool is_too_long = errno == E2BIG;
  return {file_error("/bin/sh"), is_too_long};
}

// The first letter of what the child says of its problem.
constexpr char kJobs = 'j';
constexpr char kMachines = 'm';

std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 512> piece;
  for (;;) {
    const ssize_t size = read(descriptor, piece.data(), piece.size());
    if (size > 0) text.append(piece.data(), static_cast<std::size_t>(size));
    if (size == 0 || (size < 0 && errno != EINTR)) return text;
  }
}

}  // namespace

StartedTask start_task(const SupervisedTask& task, const Descriptor& record, const TaskLimits& limits) {
  if (const Status status = limits.prepare(); !status.ok()) return {-1, status.message()};
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {-1, file_error("pipe").message()};
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t supervisor = getpid();
  const pid_t child = fork();
  if (child < 0) return {-1, file_error("fork").message()};
  if (child == 0) {
    const StartProblem problem = become_task(task, record, limits, supervisor);
    const std::string text = std::string(1, problem.is_jobs ? kJobs : kMachines) + problem.status.message();
    static_cast<void>(!write(writing.get(), text.data(), text.size()));
    _exit(127);
  }
  writing.reset();
  StartedTask started{child, read_to_end(reading.get())};
  if (started.problem.empty()) return started;
  const bool is_jobs = started.problem.front() == kJobs;
  started.problem.erase(0, 1);
  if (is_jobs) return started;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  started.process = -1;
  return started;
}

}  // namespace berth
