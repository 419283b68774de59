#include "engine/exec/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>

#include "engine/base/private_folder.h"
#include "engine/exec/local_keep.h"
#include "engine/exec/local_process.h"
#include "engine/exec/local_record.h"
#include "engine/exec/local_start.h"
#include "engine/exec/plain_file.h"
#include "engine/exec/supervisor_anchor.h"

namespace berth {

namespace {

using SupervisorClock = std::chrono::steady_clock;
using Moment = SupervisorClock::time_point;
constexpr Moment kNever = Moment::max();

Moment after(Seconds duration) {
  // Longer than this is for ever, and would overflow the clock.
  constexpr std::int64_t kMost = std::int64_t{100} * 366 * 86400;
  return duration.value() >= kMost ? kNever : SupervisorClock::now() + std::chrono::seconds(duration.value());
}

std::int64_t microseconds(const timeval& time) { return time.tv_sec * std::int64_t{1000000} + time.tv_usec; }

class Supervisor {
 public:
  Supervisor(SupervisorOrder order, ProcessMark guard)
      : order_(std::move(order)), own_(own_process_mark()), guard_(std::move(guard)) {}

  // What could not be claimed, and why: one line each.
  std::string claim_all() {
    std::string complaints;
    if (const Status listed = write_list(); !listed.ok()) return listed.message() + "\n";
    for (const SupervisedTask& task : order_.tasks) {
      Result<Descriptor> record = claim_task(task.folder, own_, guard_, task.time_limit);
      if (!record.ok()) complaints += record.status().message() + "\n";
      if (record.ok() && record->is_open()) {
        tasks_.emplace_back(task, *std::move(record), limits_for(task));
      } else {
        note_ended(task.key);
      }
    }
    note_in_list(kListClaimed);
    write_notes();
    return complaints;
  }

  void start_all() {
    for (Task& task : tasks_) start(task);
  }

  // What `dead` has claimed and not seen to its end. Its children are ours now.
  void take_over(const ProcessMark& dead) {
    static_cast<void>(write_list());
    for (const SupervisedTask& task : order_.tasks) {
      if (!take_over(task, dead)) note_ended(task.key);
    }
    note_in_list(kListClaimed);
    write_notes();
    unlink(list_path_of(dead).c_str());
    reap();  // who died with it has sent its signal already
  }

  // Until all have ended.
  void run(int signals) {
    while (!tasks_.empty()) {
      pollfd wait = {signals, POLLIN, 0};
      const timespec left = time_left();
      ppoll(&wait, 1, &left, nullptr);
      if ((wait.revents & POLLIN) != 0) read_signals(signals);
      reap();
      wake_stopped(guard_);
      for (Task& task : tasks_) pass_deadlines(task);
      std::erase_if(tasks_, [&](Task& task) { return is_finished(task); });
      write_notes();
    }
    unlink(list_path().c_str());
  }

 private:
  struct Task {
    Task(const SupervisedTask& asked, Descriptor claimed, TaskLimits its_limits)
        : order(&asked), record(std::move(claimed)), limits(std::move(its_limits)) {}

    const SupervisedTask* order;
    Descriptor record;
    TaskLimits limits;
    pid_t process = -1;  // its first, and its group; -1 = nothing of it is left
    TaskStart begun = {};
    bool has_group = true;   // else the number of the group may be somebody else's
    bool rest_told = false;  // what has left the group
    bool must_go = false;    // its grace is over
    bool was_told = false;   // something was asked of it before it ended
    std::string problem = {};
    Moment time_limit = kNever;
    Moment kill = kNever;
    bool is_out_of_time = false;
    int sent = 0;                 // the last signal with which it was to run on
    Moment heeds_until = kNever;  // how long what is left of it may heed that; kNever = it was sent none
    std::int64_t cpu_us = 0;
    MiB memory_peak;
    std::size_t requests_read = 0;
    std::optional<TaskEnd> end = {};  // of its first process
    bool is_recorded = false;
    Moment next_start = kNever;  // of one that the machine could not start: when it is tried again
    Moment last_start = kNever;  // and how long
    Moment adopted = kNever;     // when it was taken over
    Moment gone = kNever;        // when nothing of it was left
    std::string lost = {};       // why its end is none
  };

  TaskLimits limits_for(const SupervisedTask& task) const {
    return {order_.limits, order_.cgroups + "/" + task.key, task.cpu, task.memory};
  }

  std::string list_path() const { return list_path_of(own_); }
  std::string list_path_of(const ProcessMark& supervisor) const {
    return fmt::format("{}/{}", order_.list, task_list_name(supervisor));
  }

  // Before the first claim, so that what runs is always found through it. Locked: see supervisor_state().
  Status write_list() {
    if (!make_folders(order_.list)) return file_error(order_.list);
    BERTH_ASSIGN(list_, open_plain_file(list_path(), O_WRONLY | O_CREAT | O_TRUNC));
    static_cast<void>(flock(list_.get(), LOCK_EX | LOCK_NB));
    std::string text = own_.boot + "\n";
    for (const SupervisedTask& task : order_.tasks) text += task.key + "\n";
    if (write(list_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
    Status error = file_error(list_path());
    unlink(list_path().c_str());
    return error;
  }

  void note_in_list(std::string_view line) { notes_ += fmt::format("{}\n", line); }
  void note_ended(const std::string& key) { note_in_list(fmt::format("{}{}", kListEnded, key)); }
  // Tried again where the disk refuses. After half a line they begin a line of their own.
  void write_notes() {
    if (notes_.empty()) return;
    const Result<Descriptor> file = open_plain_file(list_path(), O_WRONLY | O_APPEND);
    const std::string text = "\n" + notes_;
    if (file.ok() && write(file->get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) notes_.clear();
  }

  static void start(Task& task) {
    StartedTask started = start_task(*task.order, task.record, task.limits);
    if (started.process < 0) return try_again(task, started.problem);
    task.next_start = kNever;
    task.process = started.process;
    task.problem = std::move(started.problem);
    const std::optional<ProcessStat> stat = task.process > 0 ? process_stat(task.process) : std::nullopt;
    task.begun = {{task.process, stat ? stat->start : 0, own_process_mark().boot}, Seconds(time(nullptr))};
    if (task.order->time_limit > Seconds(0)) task.time_limit = after(task.order->time_limit);
  }

  // A full disk, or too many processes: no fault of the job.
  static void try_again(Task& task, const std::string& problem) {
    constexpr std::chrono::seconds kBetween{2};
    constexpr std::chrono::minutes kPatience{10};
    const Moment now = SupervisorClock::now();
    if (task.last_start == kNever) task.last_start = now + kPatience;
    task.next_start = now + kBetween;
    if (now < task.last_start) return;
    task.next_start = kNever;
    task.lost = "it could not be started: " + problem;
    task.end = TaskEnd{.at = Seconds(time(nullptr)), .exit_code = 127, .detail = problem};
  }

  // False when it is none of ours, or over.
  bool take_over(const SupervisedTask& order, const ProcessMark& dead) {
    const Result<std::optional<TaskRecord>> found = read_record(order.folder);
    const TaskRecord record = found.ok() ? found->value_or(TaskRecord()) : TaskRecord();
    if (record.end || record.lost || (record.supervisor.pid > 0 && record.supervisor != dead)) return false;
    const bool is_intact = record.supervisor == dead;
    Task task(order, is_intact ? take_over_claim(order.folder, own_) : Descriptor(), limits_for(order));
    if (is_intact && !task.record.is_open()) return false;
    // Without a start the kernel has killed it before it became the command.
    const std::optional<TaskStart> start = is_intact ? record.start : first_process_of(order);
    if (!start) {
      write_lost(task.record, "its supervisor was killed before it started");
      return false;
    }
    const bool is_child = has_child(P_PID, start->process.pid);
    if (!is_child && !record.first_end) {
      write_lost(task.record, "its supervisor was killed just as it ended");
      return false;
    }
    task.process = start->process.pid;
    task.begun = *start;
    task.adopted = SupervisorClock::now();
    task.has_group = has_child(P_PGID, task.process);
    const Seconds ran = running_time(start->process);
    if (order.time_limit > Seconds(0)) task.time_limit = after(std::max(order.time_limit - ran, Seconds(0)));
    follow_earlier_requests(task);
    if (!is_child) {
      task.end = record.first_end;
      task.is_out_of_time = task.end->is_out_of_time;
      doubt_end(task);
    }
    tasks_.push_back(std::move(task));
    return true;
  }

  // Running or not yet reaped.
  static bool has_child(idtype_t kind, pid_t process) {
    siginfo_t info = {};
    return waitid(kind, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  }

  // Of one whose record is gone or spoilt.
  static std::optional<TaskStart> first_process_of(const SupervisedTask& order) {
    std::optional<TaskStart> first;
    for (const Descendant& each : own_descendants({})) {
      const bool leads = each.group == each.process.pid && each.done_file == order.done_file;
      if (!leads || (first && first->process.start <= each.process.start)) continue;
      first = TaskStart{each.process, Seconds(time(nullptr)) - running_time(each.process)};
    }
    return first;
  }

  // Those below us that are the task's, in its group and out of it. What shows no task's name, as one that has set its
  // title, is of the task whose session it is in, or else of the last one.
  std::vector<ProcessMark> processes_of(const Task& task) const {
    std::map<std::int32_t, std::string> first;
    for (const Task& each : tasks_) {
      if (each.process > 0 && !each.end) first.emplace(each.process, each.order->done_file);
    }
    const auto is_live = [](const Task& each) { return each.process > 0; };
    const bool is_only = std::ranges::count_if(tasks_, is_live) == 1;
    const std::string& own_name = task.order->done_file;
    std::vector<ProcessMark> found;
    for (const Descendant& each : own_descendants(first)) {
      if (each.done_file ? *each.done_file == own_name : is_only || each.session == task.process)
        found.push_back(each.process);
    }
    return found;
  }

  static void signal_group(const Task& task, int signal) {
    if (task.process > 0 && task.has_group) kill(-task.process, signal);
  }
  // What is stopped hears only KILL and CONT.
  static void send_group(const Task& task, int signal) {
    signal_group(task, signal);
    signal_group(task, SIGCONT);
  }
  void kill_all_of(Task& task) const {
    signal_group(task, SIGKILL);
    for (const ProcessMark& process : processes_of(task)) signal_process(process, SIGKILL);
    task.limits.kill_all();
  }

  // The dead one has passed on all but perhaps the last ones; the times to kill hold.
  static void follow_earlier_requests(Task& task) {
    constexpr Seconds kPerhapsNotSent{10};
    const Seconds now(time(nullptr));
    for (const TaskRequest& request : read_requests(task.order->folder, task.requests_read)) {
      task.was_told = task.was_told || !request.is_out_of_time;
      if (now - request.at <= kPerhapsNotSent) send_group(task, request.signal);
      if (request.grace) end_task(task, SIGCONT, std::max(request.at + *request.grace - now, Seconds(0)));
      if (!request.grace) note_sent(task, request);
    }
  }

  timespec time_left() const {
    Moment next = SupervisorClock::now() + std::chrono::hours(1);
    for (const Task& task : tasks_) {
      next = std::min({next, task.time_limit, task.kill, task.next_start});
      if (task.end && task.process > 0 && task.heeds_until > SupervisorClock::now())
        next = std::min(next, task.heeds_until);
      // The disk refused its record, its cgroup empties, or what was killed goes: look again soon.
      if (task.end && (task.process < 0 || task.must_go))
        next = std::min(next, SupervisorClock::now() + std::chrono::milliseconds(200));
    }
    const std::int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(next - SupervisorClock::now()).count();
    constexpr std::int64_t kSecond = 1000000000;
    return ns <= 0 ? timespec{} : timespec{ns / kSecond, ns % kSecond};
  }

  void read_signals(int signals) {
    signalfd_siginfo info = {};
    while (read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      for (Task& task : tasks_) {
        if (info.ssi_signo == SIGUSR1) follow_requests(task);
        if (info.ssi_signo == SIGTERM) end_with_us(task);
      }
    }
  }

  // As when the machine shuts down: nobody asked for the end of the task, and what it makes of the signal is no end of
  // its own.
  void end_with_us(Task& task) const {
    const bool ended_first = task.end && !may_have_ended_with_us(task);
    if (!ended_first && task.kill == kNever && !task.is_out_of_time) task.lost = "its supervisor was told to end";
    end_task(task, SIGTERM, order_.grace);
  }

  // A signal to all processes may end the task, even well, before its supervisor hears the signal. A task seldom ends
  // itself by SIGTERM, so such an end waits for longer.
  static bool may_have_ended_with_us(const Task& task) {
    if (!task.end || task.is_out_of_time || task.kill != kNever) return false;
    const std::chrono::milliseconds wait(task.end->signal == SIGTERM ? 1000 : 300);
    return task.gone == kNever || SupervisorClock::now() - task.gone < wait;
  }

  static void follow_requests(Task& task) {
    for (const TaskRequest& request : read_requests(task.order->folder, task.requests_read)) {
      task.was_told = task.was_told || (!task.end && !request.is_out_of_time);
      if (request.grace) {
        end_task(task, request.signal, *request.grace);
      } else if (task.process > 0) {
        send_group(task, request.signal);
        note_sent(task, request);
      }
    }
  }

  static void note_sent(Task& task, const TaskRequest& request) {
    task.sent = request.signal;
    task.heeds_until = after(std::max(request.at + request.lasts - Seconds(time(nullptr)), Seconds(0)));
  }

  // The earliest kill that was announced holds.
  static void end_task(Task& task, int signal, Seconds grace) {
    if (task.next_start != kNever) {
      task.next_start = kNever;
      task.end = TaskEnd{
          .at = Seconds(time(nullptr)), .signal = signal, .was_told = true, .detail = "stopped before it started"};
    }
    if (task.process <= 0) return;
    send_group(task, signal);
    task.kill = std::min(task.kill, after(grace));
  }

  void pass_deadlines(Task& task) const {
    const Moment now = SupervisorClock::now();
    if (now >= task.next_start) start(task);
    if (now >= task.time_limit) {
      task.time_limit = kNever;
      task.is_out_of_time = task.process > 0;
      end_task(task, SIGTERM, order_.grace);
    }
    if (now < task.kill) return;
    task.kill = kNever;
    task.must_go = true;
    if (task.process > 0) kill_all_of(task);
  }

  // Children of tasks that lost their parent are ours (see PR_SET_CHILD_SUBREAPER).
  void reap() {
    siginfo_t info = {};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
      const pid_t group = getpgid(info.si_pid);
      const auto is_its = [&](const Task& task) { return task.has_group && task.process == group; };
      const auto task = std::ranges::find_if(tasks_, is_its);
      if (task != tasks_.end() && info.si_pid == group) {
        note_end(*task, info);
        if (task->lost.empty()) write_first_end(task->record, *task->end);
      }
      int status = 0;
      rusage use = {};
      if (wait4(info.si_pid, &status, 0, &use) != info.si_pid) return;
      if (task != tasks_.end()) add_use(*task, use);
      info = {};
    }
    for (Task& task : tasks_) {
      if (task.process > 0 && task.end) clear_group(task);
    }
  }

  static void add_use(Task& task, const rusage& use) {
    task.cpu_us += microseconds(use.ru_utime) + microseconds(use.ru_stime);
    task.memory_peak = std::max(task.memory_peak, MiB(divide_up(use.ru_maxrss, 1024)));
  }

  static void note_end(Task& task, const siginfo_t& info) {
    const bool has_exited = info.si_code == CLD_EXITED;
    task.end = TaskEnd{.at = Seconds(time(nullptr)),
                       .exit_code = has_exited ? info.si_status : 0,
                       .signal = has_exited ? 0 : info.si_status,
                       .is_out_of_time = task.is_out_of_time,
                       .was_told = task.was_told,
                       .detail = task.problem};
    doubt_end(task);
  }

  // What killed the supervisor, or the kernel in its name just before the command began. Nobody asked for it.
  static void doubt_end(Task& task) {
    const bool was_asked = task.kill != kNever || task.is_out_of_time;
    if (task.end->signal == SIGKILL && !was_asked && task.adopted != kNever &&
        SupervisorClock::now() - task.adopted < std::chrono::seconds(2))
      task.lost = "it was killed together with its supervisor";
  }

  // Its first process has ended. Others may use what is left of their grace; without one they go now. Where a signal
  // that we sent ended it or the script in it (128 and the signal), as it ends a shell around a program that minds it,
  // the others run on; else they have as long as the signal lasts. The number of the group is ours as long as a child
  // of ours is in it. Processes that have left the group are told to stop once the group has ended.
  void clear_group(Task& task) const {
    if (!has_child(P_PGID, task.process)) task.has_group = false;
    const std::vector<ProcessMark> left = processes_of(task);
    const bool was_sent = task.sent != 0 && (task.end->signal == task.sent || task.end->exit_code == 128 + task.sent);
    const bool may_heed = task.sent != 0 && SupervisorClock::now() < task.heeds_until;
    if (!left.empty() && !task.must_go && (task.kill != kNever || was_sent || may_heed)) {
      if (task.has_group || task.rest_told || task.kill == kNever) return;
      task.rest_told = true;
      for (const ProcessMark& process : left) {
        signal_process(process, SIGTERM);
        signal_process(process, SIGCONT);
      }
      return;
    }
    if (!left.empty()) {
      task.must_go = true;
      signal_group(task, SIGKILL);
      // One that may not be signalled, as it became another user's, is not waited for.
      const auto was_killed = [](const ProcessMark& each) { return signal_process(each, SIGKILL); };
      if (std::ranges::count_if(left, was_killed) > 0) {
        task.limits.kill_all();
        return;
      }
    }
    task.limits.kill_all();
    task.process = -1;
    task.gone = SupervisorClock::now();
    task.kill = kNever;
    task.time_limit = kNever;
    task.end->is_out_of_time = task.is_out_of_time;
    const bool failed = task.end->exit_code != 0 || task.end->signal != 0;
    const MiB peak = task.limits.memory_peak().value_or(task.memory_peak);
    task.end->at = Seconds(time(nullptr));
    task.end->use.cpu_seconds = (task.cpu_us + 500000) / 1000000;
    task.end->use.memory_peak = peak;
    task.end->is_out_of_memory = failed && task.limits.ran_out_of_memory(peak);
  }

  bool is_finished(Task& task) {
    if (!task.end || task.process > 0) return false;
    if (task.lost.empty() && may_have_ended_with_us(task)) return false;
    if (!task.is_recorded) {
      restore_record(task);
      task.is_recorded = task.lost.empty() ? write_end(task.record, *task.end) : write_lost(task.record, task.lost);
    }
    if (!task.is_recorded || !task.limits.remove()) return false;
    note_ended(task.order->key);
    return true;
  }

  // The job may have removed it, or put something else there.
  void restore_record(Task& task) const {
    const std::string& folder = task.order->folder;
    if (is_record_of(task.record, folder)) return;
    put_aside(folder + "/record");
    Result<Descriptor> again = claim_task(folder, own_, guard_, task.order->time_limit);
    if (!again.ok() || !again->is_open()) return;
    task.record = *std::move(again);
    if (task.begun.process.pid > 0) write_start(task.record, task.begun);
  }

  SupervisorOrder order_;
  ProcessMark own_;
  ProcessMark guard_;
  std::vector<Task> tasks_;
  Descriptor list_;    // locked while it lives
  std::string notes_;  // for its list, not yet written
};

// Stands by a supervisor, its child, and does the rest should that one die.
void stand_guard(pid_t child, int signals, SupervisorOrder order) {
  const std::optional<ProcessStat> stat = process_stat(child);
  const ProcessMark supervisor = {child, stat ? stat->start : 0, own_process_mark().boot};
  int status = 0;
  for (pid_t changed = 0; (changed = waitpid(child, &status, WNOHANG | WUNTRACED)) >= 0;) {
    if (changed == child && !WIFSTOPPED(status)) break;
    if (changed == child) {
      // A job of its own may have done that.
      kill(child, SIGCONT);
      continue;
    }
    pollfd wait = {signals, POLLIN, 0};
    poll(&wait, 1, -1);
    signalfd_siginfo info = {};
    while (read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGTERM) kill(child, SIGTERM);
    }
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  Supervisor successor(std::move(order), {});
  successor.take_over(supervisor);
  successor.run(signals);
}

std::string read_standard_input() {
  std::string text;
  std::array<char, 65536> piece;
  for (ssize_t size = 0; (size = read(STDIN_FILENO, piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(size));
  return text;
}

// Descendants that lose their parent become children of this process.
void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

// A process without parent, terminal and open files, which ignores what ends others by the way.
void leave_everything() {
  if (const pid_t child = fork(); child != 0) _exit(child < 0 ? 1 : 0);
  setsid();
  adopt_orphans();
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ, SIGTSTP, SIGTTIN, SIGTTOU})
    std::signal(signal, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
}

int open_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGUSR1, SIGTERM}) sigaddset(&set, signal);
  sigprocmask(SIG_SETMASK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void use_null_streams() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream = 0; stream <= 2; ++stream) dup2(null, stream);
  if (null > 2) close(null);
  static_cast<void>(!chdir("/"));
}

void answer(const std::string& text) {
  static_cast<void>(!write(kSupervisorReply, text.data(), text.size()));
  close(kSupervisorReply);
}

}  // namespace

bool is_supervisor_call(int count, char** arguments) { return count > 1 && kSupervisorArgument == arguments[1]; }

int supervise() {
  if (fcntl(kSupervisorReply, F_SETFD, FD_CLOEXEC) != 0) {
    constexpr std::string_view kWords =
        "--supervise is how Berth starts a supervisor of tasks; it is of no use by hand\n";
    static_cast<void>(!write(STDERR_FILENO, kWords.data(), kWords.size()));
    return 2;
  }
  leave_everything();
  const int signals = open_signals();
  std::optional<SupervisorOrder> order = read_order(read_standard_input());
  if (!order || signals < 0) {
    answer("the supervisor was given no order\n");
    return 2;
  }
  use_null_streams();
  const Anchor root = anchor(*order);
  const ProcessMark guard = own_process_mark();
  const pid_t child = fork();
  if (child > 0) {
    close(kSupervisorReply);
    stand_guard(child, signals, *std::move(order));
    return 0;
  }
  // Where nobody could be forked it goes without a guard.
  adopt_orphans();
  Supervisor supervisor(*std::move(order), child == 0 ? guard : ProcessMark());
  answer(root.as_called(supervisor.claim_all()));
  supervisor.start_all();
  supervisor.run(signals);
  return 0;
}

}  // namespace berth
