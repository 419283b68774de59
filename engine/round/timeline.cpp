#include "engine/round/timeline.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

namespace berth {

namespace {

// Calls visit(device) for every device in the mask.
template <class Visit>
void for_each_device(DeviceMask devices, Visit visit) {
  for (; devices != 0; devices &= devices - 1) visit(static_cast<std::size_t>(std::countr_zero(devices)));
}

}  // namespace

Seconds last_end_of(const Job& job, Seconds now) {
  const Seconds longest = job.estimate.longest;
  if (longest > Seconds(0)) return longest == kNever ? kNever : now + longest;
  const Seconds end = job.expected_end(now);
  return end < now ? kNever : end;
}

void Timeline::Amounts::add(const Holding& holding, int sign) {
  cpu += sign * holding.cpu.value();
  memory += sign * holding.memory.value();
  for_each_device(holding.devices, [&](std::size_t d) {
    milli[d] += sign * static_cast<std::int32_t>(holding.gpu_milli.value());
    device_memory[d] += sign * static_cast<std::int32_t>(holding.gpu_memory.value());
  });
}

Timeline::Amounts Timeline::Amounts::operator-(const Amounts& other) const {
  Amounts left = *this;
  left.cpu -= other.cpu;
  left.memory -= other.memory;
  for (std::size_t d = 0; d < kMaxDevices; ++d) {
    left.milli[d] -= other.milli[d];
    left.device_memory[d] -= other.device_memory[d];
  }
  return left;
}

Timeline::Amounts Timeline::Amounts::beyond(const Amounts& others) const {
  Amounts left = *this - others;
  left.cpu = std::max<std::int64_t>(left.cpu, 0);
  left.memory = std::max<std::int64_t>(left.memory, 0);
  for (std::size_t d = 0; d < kMaxDevices; ++d) {
    left.milli[d] = std::max(left.milli[d], 0);
    left.device_memory[d] = std::max(left.device_memory[d], 0);
  }
  return left;
}

void Timeline::insert(Line& line, const Change& change) {
  line.changes.insert(std::ranges::upper_bound(line.changes, change.time, {}, &Change::time), change);
}

// One change for each part of the amounts that is not zero, else like `change`.
void Timeline::insert(Line& line, const Change& change, const Amounts& amounts) {
  Change part = change;
  part.holding.cpu = MilliCpu(amounts.cpu);
  part.holding.memory = MiB(amounts.memory);
  if (amounts.cpu != 0 || amounts.memory != 0) insert(line, part);
  part = change;
  for (std::size_t d = 0; d < kMaxDevices; ++d) {
    if (amounts.milli[d] == 0 && amounts.device_memory[d] == 0) continue;
    part.holding.devices = DeviceMask{1} << d;
    part.holding.gpu_milli = MilliGpu(amounts.milli[d]);
    part.holding.gpu_memory = MiB(amounts.device_memory[d]);
    insert(line, part);
  }
}

void Timeline::add_end(const ExpectedEnd& end) {
  ends_.push_back(end);
  if (const auto line = lines_.find(end.holding.node); line != lines_.end()) {
    insert(line->second, {.time = end.time, .holding = end.holding});
  }
}

void Timeline::look_at(RunningJobs& running, std::vector<RunEnd> ends) {
  running_ = &running;
  run_ends_ = std::move(ends);
}

Timeline::Ends::Ends(const Timeline& timeline, Seconds before) : timeline_(timeline) {
  const std::size_t runs = timeline.run_ends_.size();
  heap_.reserve(runs + timeline.ends_.size());
  for (std::size_t i = 0; i < runs; ++i) {
    if (timeline.run_ends_[i].time < before) heap_.push_back({timeline.run_ends_[i].time, i});
  }
  for (std::size_t i = 0; i < timeline.ends_.size(); ++i) {
    if (timeline.ends_[i].time < before) heap_.push_back({timeline.ends_[i].time, runs + i});
  }
  std::ranges::make_heap(heap_, std::greater());
}

Seconds Timeline::Ends::next() {
  if (taken_ < sorted_.size()) return sorted_[taken_].time;
  if (heap_.empty()) return kNever;
  std::ranges::pop_heap(heap_, std::greater());
  sorted_.push_back(heap_.back());
  heap_.pop_back();
  return sorted_.back().time;
}

void Timeline::append_ends(NodeIndex node, std::vector<Change>& changes) const {
  if (running_ == nullptr) return;
  for (const std::int64_t job : running_->jobs_on(node)) {
    const std::size_t place = running_->place_of(job);
    if (place >= run_ends_.size()) continue;  // joined since
    const RunningJob& run = running_->all()[place];
    for (std::size_t task = 0; task < run_ends_[place].tasks; ++task) {
      const Holding& holding = run.tasks[task].holding;
      if (holding.node == node)
        changes.push_back(
            {.time = run_ends_[place].time, .holding = holding, .leaves_for = run_ends_[place].leaves_for});
    }
  }
}

std::map<NodeIndex, Timeline::Line> Timeline::new_lines(std::span<const ReservedTask> tasks) const {
  std::map<NodeIndex, Line> lines;
  for (const ReservedTask& task : tasks) {
    if (!is_reserved(task.holding.node)) lines.try_emplace(task.holding.node);
  }
  if (lines.empty()) return lines;
  for (auto& [node, line] : lines) append_ends(node, line.changes);
  for (const ExpectedEnd& end : ends_) {
    const auto line = lines.find(end.holding.node);
    if (line != lines.end()) line->second.changes.push_back({.time = end.time, .holding = end.holding});
  }
  for (auto& [node, line] : lines) std::ranges::stable_sort(line.changes, {}, &Change::time);
  return lines;
}

const Timeline::Line* Timeline::find(NodeIndex node) const {
  const auto found = lines_.find(node);
  return found == lines_.end() ? nullptr : &found->second;
}

void Timeline::reserve(std::int64_t job, std::span<const ReservedTask> tasks, Seconds from, Seconds to) {
  lines_.merge(new_lines(tasks));
  for (const ReservedTask& task : tasks) {
    Line& line = lines_[task.holding.node];
    insert(line, {.time = from, .job = job, .sign = -1, .holding = task.holding});
    insert(line, {.time = to, .job = job, .sign = 1, .holding = task.holding});
  }
}

void Timeline::promise(std::int64_t job, std::span<const ReservedTask> tasks, Seconds to) {
  lines_.merge(new_lines(tasks));
  std::map<NodeIndex, Amounts> promised;
  for (const ReservedTask& task : tasks) promised[task.holding.node].add(task.holding, 1);
  for (const auto& [node, wanted] : promised) {
    Line& line = lines_[node];
    std::map<Seconds, Amounts> leaving;  // by time
    Amounts there;
    for (const Change& change : line.changes) {
      if (change.job != 0 || change.leaves_for != job) continue;
      leaving[change.time].add(change.holding, 1);
      there.add(change.holding, 1);
    }
    leaving.try_emplace(now_);
    Holding on_node;
    on_node.node = node;
    Amounts held;
    for (const auto& [time, gone] : leaving) {
      there = there - gone;
      const Amounts held_then = wanted.beyond(there);
      insert(line, {.time = time, .job = job, .sign = -1, .holding = on_node}, held_then - held);
      held = held_then;
    }
    insert(line, {.time = to, .job = job, .sign = 1, .holding = on_node}, held);
  }
}

void Timeline::close(std::int64_t job, std::span<const ReservedTask> tasks, Seconds until, PassBy passes) {
  lines_.merge(new_lines(tasks));
  for (const ReservedTask& task : tasks) {
    Line& line = lines_[task.holding.node];
    line.closed_for = job;
    line.closed_until = until;
    line.passes = passes;
  }
}

// Calls visit(time, net change since the ledger, job whose reservation began last) for `from` and for every later
// moment before `to` at which something changes.
template <class Visit>
void Timeline::walk(const Line& line, Seconds from, Seconds to, Seconds ended, Passed passed, Visit visit) {
  Amounts net;
  std::int64_t job = 0;
  auto change = line.changes.begin();
  const auto take = [&] {
    const bool counts = passed.counts(*change, ended);
    if (counts) net.add(change->holding, change->sign);
    if (counts && change->sign < 0) job = change->job;
    ++change;
  };
  while (change != line.changes.end() && change->time <= from) take();
  visit(from, net, job);
  while (change != line.changes.end() && change->time < to) {
    const Seconds time = change->time;
    while (change != line.changes.end() && change->time == time) take();
    visit(time, net, job);
  }
}

std::int64_t Timeline::delays(const Ledger& ledger, const Holding& holding, TaskEnd end, std::int64_t except) const {
  const Line* line = find(holding.node);
  if (line == nullptr) return 0;
  if (line->is_closed_to(except, end)) return line->closed_for;
  const Passed passed{except, line->closed_for};  // it is over before that one begins
  const NodeView view = ledger.view(holding.node);
  std::int64_t delayed = 0;
  walk(*line, now_, end.expected, kNoneEnded, passed, [&](Seconds, const Amounts& net, std::int64_t job) {
    if (delayed != 0) return;
    bool is_short = (holding.cpu > MilliCpu(0) && view.cpu.value() + net.cpu < 0) ||
                    (holding.memory > MiB(0) && view.memory.value() + net.memory < 0);
    for_each_device(holding.devices, [&](std::size_t d) {
      is_short = is_short || view.milli[d] + net.milli[d] < 0 ||
                 (holding.gpu_memory > MiB(0) && view.device_memory[d] + net.device_memory[d] < 0);
    });
    if (is_short) delayed = job;
  });
  return delayed;
}

std::vector<NodeIndex> Timeline::reserved_nodes() const {
  std::vector<NodeIndex> nodes;
  for (const auto& [node, line] : lines_) nodes.push_back(node);
  return nodes;
}

void Timeline::append_shade(const Ledger& ledger, NodeIndex node, Seconds from, TaskEnd to, Seconds ended,
                            std::int64_t except, std::vector<Holding>& shade) const {
  const Line* line = find(node);
  if (line == nullptr) return;
  const NodeView view = ledger.view(node);
  const std::size_t devices = view.milli.size();
  const bool is_closed = line->is_closed_to(except, to);
  const Passed passed{except, is_closed ? 0 : line->closed_for};
  Amounts least;
  if (from <= now_ && is_closed) {
    least.cpu = -view.cpu.value();
    least.memory = -view.memory.value();
    for (std::size_t d = 0; d < devices; ++d) {
      least.milli[d] = -view.milli[d];
      least.device_memory[d] = -view.device_memory[d];
    }
  }
  // Least is left right after something is taken: only there, and of what is taken, it is looked at.
  Amounts net;
  const auto counts = [&](const Change& change) { return passed.counts(change, ended); };
  const auto take_while = [&](auto change, auto&& goes_on) {
    for (; change != line->changes.end() && goes_on(*change); ++change) {
      if (counts(*change)) net.add(change->holding, change->sign);
    }
    return change;
  };
  const auto note_least = [&](const Holding& taken) {
    least.cpu = std::min(least.cpu, net.cpu);
    least.memory = std::min(least.memory, net.memory);
    for_each_device(taken.devices, [&](std::size_t d) {
      least.milli[d] = std::min(least.milli[d], net.milli[d]);
      least.device_memory[d] = std::min(least.device_memory[d], net.device_memory[d]);
    });
  };
  auto change = take_while(line->changes.begin(), [&](const Change& next) { return next.time <= from; });
  for (auto before = line->changes.begin(); before != change; ++before) {
    if (before->sign < 0) note_least(before->holding);
  }
  while (change != line->changes.end() && change->time < to.expected) {
    const Seconds time = change->time;
    const auto behind = take_while(change, [&](const Change& next) { return next.time == time; });
    for (; change != behind; ++change) {
      if (change->sign < 0 && counts(*change)) note_least(change->holding);
    }
  }
  const MilliCpu cpu = std::min(view.cpu, MilliCpu(-least.cpu));
  const MiB memory = std::min(view.memory, MiB(-least.memory));
  if (cpu > MilliCpu(0) || memory > MiB(0)) shade.push_back({node, 0, MilliGpu(0), MiB(0), cpu, memory});
  for (std::size_t d = 0; d < devices; ++d) {
    const MilliGpu milli(std::min(view.milli[d], -least.milli[d]));
    const MiB device_memory(std::min(view.device_memory[d], -least.device_memory[d]));
    if (milli == MilliGpu(0) && device_memory == MiB(0)) continue;
    shade.push_back({node, DeviceMask{1} << d, milli, device_memory, MilliCpu(0), MiB(0)});
  }
}

void Timeline::append_turns(NodeIndex node, Seconds duration, std::int64_t except,
                            std::vector<std::pair<Seconds, NodeIndex>>& turns) const {
  const Line* line = find(node);
  if (line == nullptr) return;
  for (const Change& change : line->changes) {
    if (change.job == 0 || change.job == except) continue;
    if (change.sign > 0) {
      turns.emplace_back(change.time, node);
    } else if (const Seconds in_reach = change.time - duration + Seconds(1); in_reach > now_) {
      turns.emplace_back(in_reach, node);
    }
  }
}

// The first moment from `from` on at which `needed` is free on the node and stays so for `duration`.
Seconds Timeline::free_on(const Ledger& ledger, const Line& line, NodeIndex node, const Amounts& needed, Seconds from,
                          Seconds duration, std::int64_t except) const {
  const NodeView view = ledger.view(node);
  std::optional<Seconds> since;
  std::optional<Seconds> found;
  walk(line, from, kNever, kNoneEnded, Passed{except}, [&](Seconds time, const Amounts& net, std::int64_t) {
    if (since && time - *since >= duration && !found) found = since;
    bool fits = view.cpu.value() + net.cpu >= needed.cpu && view.memory.value() + net.memory >= needed.memory;
    for (std::size_t d = 0; d < view.milli.size(); ++d) {
      fits = fits && (needed.milli[d] == 0 || view.milli[d] + net.milli[d] >= needed.milli[d]) &&
             (needed.device_memory[d] == 0 || view.device_memory[d] + net.device_memory[d] >= needed.device_memory[d]);
    }
    if (!fits) {
      since.reset();
    } else if (!since) {
      since = time;
    }
  });
  return found ? *found : since.value_or(kNever);
}

Seconds Timeline::free_from(const Ledger& ledger, std::span<const ReservedTask> tasks, Seconds duration,
                            std::int64_t except) {
  std::map<NodeIndex, Amounts> needs;
  for (const ReservedTask& task : tasks) needs[task.holding.node].add(task.holding, 1);
  const std::map<NodeIndex, Line> others = new_lines(tasks);
  // All nodes at the same time: later where one of them is taken again meanwhile.
  Seconds start = now_;
  for (bool moved = true; moved && start < kNever;) {
    moved = false;
    for (const auto& [node, needed] : needs) {
      const Line* reserved = find(node);
      const Line& line = reserved != nullptr ? *reserved : others.at(node);
      const Seconds free = free_on(ledger, line, node, needed, start, duration, except);
      moved = moved || free > start;
      start = std::max(start, free);
    }
  }
  return start;
}

}  // namespace berth
