#include "tests/property/owner_scene.h"

#include <bit>

namespace berth::test {

namespace {

constexpr const char* kOrders[] = {"fifo", "priority", "las", "fair_share", "drf", "wpai"};
constexpr BackfillMode kModes[] = {BackfillMode::kEasy, BackfillMode::kConservative, BackfillMode::kNone};
constexpr std::uint32_t kGangMarks = (1U << kMarkedDepths) - 1;

bool is_needed(const Job& job, const Allocation& task) {
  return task.task < job.groups[static_cast<std::size_t>(task.group)].min_tasks;
}

}  // namespace

OwnerScene::OwnerScene(std::string_view cluster, std::string_view tree, std::uint64_t seed)
    : company(cluster, tree), random_(seed), has_lend_limits_(tree.find("lend") != std::string_view::npos) {
  Snapshot& snapshot = company.snapshot;
  snapshot.order_policy = kOrders[random_.below(std::size(kOrders))];
  snapshot.rules.backfill = kModes[random_.below(std::size(kModes))];
  snapshot.rules.min_runtime = snapshot.rules.pending_delay = snapshot.rules.eviction_cooldown = Seconds(0);
  has_classes_ = random_.below(3) == 0;
  has_fractions_ = random_.below(3) == 0;
  has_graces_ = random_.below(4) == 0;
  has_elastic_ = random_.below(3) == 0;
  has_cpu_ = random_.below(4) == 0;
  for (std::int32_t q = company.departments.queue("q"); q >= 0; q = queue(q).parent) path_.insert(path_.begin(), q);
  fill();
}

bool OwnerScene::lies_in(std::int32_t q, std::int32_t above) const {
  for (; q >= 0; q = queue(q).parent) {
    if (q == above) return true;
  }
  return false;
}

void OwnerScene::submit_another(const std::string& name) {
  std::string text = random_.below(4) == 0 ? "gpus=2" : "gpus=1";
  if (has_fractions_ && random_.below(2) == 0) text = "gpus=0.5";
  if (random_.below(3) == 0) {
    text += " tasks=2";
  } else if (has_elastic_ && random_.below(2) == 0) {
    text += " tasks=3 min=1";
  }
  if (has_cpu_ && random_.below(3) == 0) text += " cpu=14";
  if (has_classes_ && random_.below(3) == 0) text += " class=1";
  EvictionTerms& terms = company.waiting_job(company.submit(name, text)).eviction;
  if (!has_lend_limits_ && random_.below(10) == 0) terms.preemptible = false;
  if (has_graces_ && random_.below(2) == 0) {
    terms.checkpoint_interval = Seconds(600);
    terms.checkpoint_grace = Seconds(60);
  }
}

// Others, and the owner a little, take what there is; then some end, and who can grow does.
void OwnerScene::fill() {
  std::vector<std::string> leaves;
  for (std::size_t q = 0; q < company.snapshot.queues.size(); ++q) {
    const auto is_child = [&](const Queue& other) { return other.parent == static_cast<std::int32_t>(q); };
    if (std::ranges::none_of(company.snapshot.queues, is_child)) leaves.push_back(company.snapshot.queues[q].name);
  }
  for (int i = 0; i < 14; ++i) {
    const std::string& name = leaves[random_.below(leaves.size())];
    if (name == "q" && random_.below(2) == 0) continue;
    submit_another(name);
    if (random_.below(2) == 0) company.round(now_ += 60);
  }
  for (int times = 0; times < 2; ++times) {
    company.round(now_ += 60);
    cancel_who_waits();
    for (int i = 0; i < 3; ++i) company.round(now_ += 60);
  }
  for (std::uint64_t i = random_.below(3); i > 0 && !company.snapshot.running.empty(); --i)
    company.finish(company.snapshot.running[random_.below(company.snapshot.running.size())].job.id);
  for (int i = 0; i < 4; ++i) company.round(now_ += 60);
}

void OwnerScene::cancel_who_waits() {
  const std::vector<Job> jobs = company.snapshot.jobs;
  for (const Job& job : jobs) {
    if (!company.runs(job.id)) company.cancel(job.id);
  }
}

std::int64_t OwnerScene::submit_owner() {
  cancel_who_waits();
  const auto one_in = [&](std::uint64_t n) { return random_.below(n) == 0; };
  const auto up_to = [&](std::uint64_t n) { return 1 + random_.below(n); };
  const bool is_fraction = has_fractions_ && one_in(2);
  const std::uint64_t gpus = one_in(3) ? 2 : one_in(6) ? 4 : 1;
  const std::uint64_t tasks = up_to(gpus == 4 ? 2 : 5);
  std::string text = (is_fraction ? "gpus=0.5" : "gpus=" + std::to_string(gpus)) + " tasks=" + std::to_string(tasks);
  class_value_ = has_classes_ && !one_in(3) ? 10 : 0;
  text += class_value_ > 0 ? " class=1" : " class=0";
  if (tasks > 1 && has_elastic_ && one_in(2)) text += " min=" + std::to_string(up_to(tasks));
  if (has_cpu_ && one_in(2)) text += " cpu=12";
  if (company.snapshot.cluster.models.size() > 1 && one_in(3)) text += one_in(2) ? " models=A100" : " models=T4";
  if (tasks > 1 && one_in(4)) {
    text += " locality=node";
  } else if (!company.snapshot.cluster.racks.empty() && one_in(2)) {
    text += " locality=rack";
  } else if (one_in(6)) {
    text += " locality=node preferred=1";
  } else if (!is_fraction && tasks < 4 && one_in(5)) {
    text += " / gpus=" + std::to_string(up_to(2)) + " tasks=" + std::to_string(up_to(2)) + (one_in(2) ? " cpu=10" : "");
    if (company.snapshot.cluster.models.size() > 1 && one_in(2)) text += one_in(2) ? " models=A100" : " models=T4";
  }
  const std::int64_t id = company.submit("q", text);
  owner_ = company.waiting_job(id).groups;
  owner_tasks_.clear();
  for (const TaskGroup& group : owner_)
    owner_tasks_.insert(owner_tasks_.end(), static_cast<std::size_t>(group.min_tasks), &group.shape);
  take_stock();
  return id;
}

std::vector<Allocation> OwnerScene::tasks_of(std::int64_t job) const {
  std::vector<Allocation> tasks;
  std::ranges::copy_if(company.snapshot.allocations, std::back_inserter(tasks),
                       [&](const Allocation& task) { return task.job == job; });
  std::ranges::sort(tasks, {}, &Allocation::task);
  return tasks;
}

std::int64_t OwnerScene::milli_of(const Allocation& task) const {
  return std::popcount(task.devices) * task.gpu_milli.value();
}

std::size_t OwnerScene::model_of(const Allocation& task) const {
  return static_cast<std::size_t>(company.snapshot.cluster.kind_of(static_cast<std::size_t>(task.node)).model);
}

void OwnerScene::change(Then& then, const Allocation& task, std::int64_t sign) const {
  NodeRoom& node = then.nodes[static_cast<std::size_t>(task.node)];
  for (std::size_t d = 0; d < node.milli.size(); ++d) {
    if ((task.devices >> d & 1) != 0) node.milli[d] += sign * task.gpu_milli.value();
  }
  node.cpu += sign * task.cpu.value();
  node.memory += sign * task.memory.value();
}

void OwnerScene::unmark(Then& then, const Allocation& task, std::int32_t q, std::uint32_t marks,
                        std::int64_t sign) const {
  for (std::size_t depth = 0; depth < path_.size(); ++depth) {
    if ((marks >> depth & 1) != 0 && lies_in(q, path_[depth]))
      then.marked[depth][model_of(task)] -= sign * milli_of(task);
  }
}

void OwnerScene::take_stock() {
  now_there_ = {};
  steps_.clear();
  const Cluster& cluster = company.snapshot.cluster;
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
    const NodeKind& kind = cluster.kind_of(n);
    now_there_.nodes.push_back({std::vector<std::int64_t>(static_cast<std::size_t>(kind.device_count), 1000),
                                kind.cpu.value(), kind.memory.value(), static_cast<std::size_t>(kind.model),
                                cluster.nodes[n].rack});
  }
  now_there_.used.assign(company.snapshot.queues.size(), ByModel(cluster.models.size(), 0));
  now_there_.marked.assign(path_.size(), ByModel(cluster.models.size(), 0));
  for (const RunningJob& run : company.snapshot.running) {
    for (const Allocation& task : tasks_of(run.job.id)) {
      const bool is_of_gang = is_needed(run.job, task);
      change(now_there_, task, -1);
      if (!gives_marks(run)) {
        unmark(now_there_, task, run.job.queue,
               is_of_gang ? run.quota_mark & kGangMarks : run.quota_mark >> kMarkedDepths, -1);
      }
      for (std::int32_t q = run.job.queue; q >= 0; q = queue(q).parent)
        now_there_.used[static_cast<std::size_t>(q)][model_of(task)] += milli_of(task);
    }
    if (run.job.eviction.preemptible && !run.is_told_to_stop()) add_steps(run);
  }
}

std::int64_t OwnerScene::class_of(const Job& job) const {
  const std::int32_t index = job.priority_class;
  return index < 0 ? 0 : company.snapshot.priority_classes[static_cast<std::size_t>(index)].value;
}

// To the owner, which is of a higher class.
bool OwnerScene::gives_marks(const RunningJob& run) const {
  return run.job.queue == path_.back() && run.job.eviction.preemptible && !run.is_told_to_stop() &&
         class_of(run.job) < class_value_;
}

void OwnerScene::add_steps(const RunningJob& run) {
  VictimStep gang;
  gang.job = run.job.id;
  gang.is_gang = true;
  gang.queue = run.job.queue;
  gang.marks = run.quota_mark & kGangMarks;
  VictimStep surplus = gang;
  surplus.is_gang = false;
  surplus.marks = run.quota_mark >> kMarkedDepths;
  if (run.job.queue == path_.back()) {
    if (class_of(run.job) >= class_value_) return;
  } else {
    int fork = 0;
    while (lies_in(run.job.queue, path_[static_cast<std::size_t>(fork)])) ++fork;
    gang.fork = surplus.fork = fork;
  }
  const auto may_go = [](const VictimStep& step) { return step.fork < 0 || (step.marks >> step.fork & 1) == 0; };
  for (const Allocation& task : tasks_of(run.job.id)) {
    if (is_needed(run.job, task)) {
      gang.holds.push_back(task);
    } else if (may_go(surplus) || may_go(gang)) {
      steps_.push_back(surplus);
      steps_.back().holds = {task};
    }
  }
  if (may_go(gang)) steps_.push_back(std::move(gang));
}

// A gang goes with its surplus.
bool OwnerScene::is_legal(VictimSet set) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if ((set >> i & 1) == 0 || !steps_[i].is_gang) continue;
    for (std::size_t j = 0; j < steps_.size(); ++j) {
      if (steps_[j].job == steps_[i].job && (set >> j & 1) == 0) return false;
    }
  }
  return true;
}

std::optional<VictimSet> OwnerScene::find_room() const {
  for (VictimSet set = 0; set < 1U << steps_.size(); ++set) {
    if (is_legal(set) && makes_room(set)) return set;
  }
  return std::nullopt;
}

bool OwnerScene::is_minimal(VictimSet set) const {
  for (VictimSet part = set; part != 0;) {
    part = (part - 1) & set;
    if (is_legal(part) && makes_room(part)) return false;
  }
  return true;
}

std::optional<VictimSet> OwnerScene::set_of(std::span<const Eviction> evictions) const {
  VictimSet set = 0;
  for (const Eviction& eviction : evictions) {
    VictimSet its = 0;
    bool has_gang = false;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const VictimStep& step = steps_[i];
      const auto is_it = [&](const TaskName& task) {
        const Allocation& first = step.holds.front();
        return !step.is_gang && task.group == first.group && task.task == first.task;
      };
      if (step.job != eviction.job || !(eviction.whole || std::ranges::any_of(eviction.tasks, is_it))) continue;
      its |= 1U << i;
      has_gang = has_gang || step.is_gang;
    }
    if (its == 0 || eviction.whole != has_gang) return std::nullopt;
    set |= its;
  }
  return set;
}

bool OwnerScene::makes_room(VictimSet set) const {
  Then then = now_there_;
  for (int depth = 0; has_lend_limits_ && depth < static_cast<int>(path_.size()); ++depth) then.own.insert(depth);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    const VictimStep& step = steps_[i];
    if (step.fork >= 0) then.own.insert(step.fork);
    for (int depth = 0; step.fork < 0 && step.is_gang && depth < static_cast<int>(path_.size()); ++depth) {
      if ((step.marks >> depth & 1) != 0) then.regained.insert(depth);
    }
    for (const Allocation& task : step.holds) {
      change(then, task, 1);
      if (step.queue != path_.back()) unmark(then, task, step.queue, step.marks, 1);
      for (std::int32_t q = step.queue; q >= 0; q = queue(q).parent)
        then.used[static_cast<std::size_t>(q)][model_of(task)] -= milli_of(task);
    }
  }
  if (owner_.size() == 1) return fits_alone(then);
  ByModel placed(then.used.front().size(), 0);
  return fits_in_groups(then, 0, 0, placed);
}

std::int64_t OwnerScene::copies(const NodeRoom& node, const TaskShape& shape) {
  if (shape.models != 0 && (shape.models >> node.model & 1) == 0) return 0;
  std::int64_t most = std::min(node.cpu / shape.cpu.value(), node.memory / shape.memory.value());
  std::int64_t by_devices = 0;
  if (shape.gpu_milli < kWholeDevice) {
    for (const std::int64_t milli : node.milli) by_devices += milli / shape.gpu_milli.value();
  } else {
    by_devices = std::ranges::count(node.milli, 1000) / shape.gpu_count;
  }
  return std::min(most, by_devices);
}

// Nodes among which its tasks must lie.
std::vector<std::vector<std::size_t>> OwnerScene::sites(const Then& then) const {
  std::map<std::int64_t, std::vector<std::size_t>> sites;
  const TaskGroup& group = owner_.front();
  const Locality locality = group.locality_required ? group.locality : Locality::kAny;
  for (std::size_t n = 0; n < then.nodes.size(); ++n) {
    const std::int64_t site = locality == Locality::kNode   ? static_cast<std::int64_t>(n)
                              : locality == Locality::kRack ? then.nodes[n].rack
                                                            : 0;
    if (site >= 0) sites[site].push_back(n);
  }
  std::vector<std::vector<std::size_t>> all;
  for (auto& [site, nodes] : sites) all.push_back(std::move(nodes));
  return all;
}

// Every division over the models, of which there are one or two.
bool OwnerScene::fits_alone(const Then& then) const {
  const TaskShape& shape = owner_.front().shape;
  const std::int64_t tasks = owner_.front().min_tasks;
  const std::int64_t milli = shape.gpu_count * shape.gpu_milli.value();
  for (const std::vector<std::size_t>& site : sites(then)) {
    ByModel room(then.used.front().size(), 0);
    for (const std::size_t n : site) room[then.nodes[n].model] += copies(then.nodes[n], shape);
    for (std::int64_t first = room.size() == 1 ? tasks : 0; first <= tasks; ++first) {
      ByModel placed(room.size(), tasks - first);
      placed.front() = first;
      if (!std::ranges::equal(placed, room, std::ranges::less_equal())) continue;
      for (std::int64_t& amount : placed) amount *= milli;
      if (is_admitted(then, placed)) return true;
    }
  }
  return false;
}

// Task by task, those that are alike from node to node.
bool OwnerScene::fits_in_groups(Then& then, std::size_t task, std::size_t from, ByModel& placed) const {
  if (task == owner_tasks_.size()) return is_admitted(then, placed);
  const TaskShape& shape = *owner_tasks_[task];
  if (task > 0 && owner_tasks_[task - 1] != &shape) from = 0;
  for (std::size_t n = from; n < then.nodes.size(); ++n) {
    if (copies(then.nodes[n], shape) == 0) continue;
    const NodeRoom before = then.nodes[n];
    NodeRoom& node = then.nodes[n];
    node.cpu -= shape.cpu.value();
    node.memory -= shape.memory.value();
    std::int32_t left = shape.gpu_count;
    for (std::int64_t& device : node.milli) {
      if (left == 0 || device < 1000) continue;
      device = 0;
      --left;
    }
    placed[node.model] += shape.gpu_count * 1000;
    const bool fits = fits_in_groups(then, task + 1, n, placed);
    placed[before.model] -= shape.gpu_count * 1000;
    then.nodes[n] = before;
    if (fits) return true;
  }
  return false;
}

bool OwnerScene::is_admitted(const Then& then, const ByModel& placed) const {
  for (const std::int32_t q : path_) {
    for (std::size_t r = 0; r < company.snapshot.quotas.resources.size(); ++r) {
      const QuotaTerms& terms = company.snapshot.quotas.terms[static_cast<std::size_t>(q)][r];
      const ModelSet models = company.snapshot.quotas.resources[r].models;
      std::int64_t use = 0;
      std::int64_t more = 0;
      for (std::size_t m = 0; m < placed.size(); ++m) {
        if (models != 0 && (models >> m & 1) == 0) continue;
        use += then.used[static_cast<std::size_t>(q)][m] + placed[m];
        more += placed[m];
      }
      if (more == 0) continue;
      if (use > terms.limit) return false;
      if (terms.borrow_limit < kNoLimit && use > terms.quota + terms.borrow_limit) return false;
    }
  }
  const auto is_own = [&](int depth) {
    return is_within(depth, placed, then.used[static_cast<std::size_t>(path_[static_cast<std::size_t>(depth)])]);
  };
  const auto is_regained = [&](int depth) {
    return is_within(depth, placed, then.marked[static_cast<std::size_t>(depth)]);
  };
  return std::ranges::all_of(then.own, is_own) && std::ranges::all_of(then.regained, is_regained);
}

bool OwnerScene::is_owned(std::size_t resource) const {
  return std::ranges::any_of(company.snapshot.quotas.terms,
                             [&](const std::vector<QuotaTerms>& terms) { return terms[resource].has_quota; });
}

// Beside what is used. A queue with quotas of models owns as many of all GPUs as of these, and what is on them is
// judged by these; one with a quota of all GPUs is not asked about models that others have a quota of.
bool OwnerScene::is_within(int depth, const ByModel& placed, const ByModel& used) const {
  const QuotaTable& table = company.snapshot.quotas;
  const std::vector<QuotaTerms>& terms = table.terms[static_cast<std::size_t>(path_[static_cast<std::size_t>(depth)])];
  std::int64_t of_models = 0;
  bool owns_all = false;
  ModelSet own_models = 0;
  for (std::size_t r = 0; r < terms.size(); ++r) {
    const ModelSet models = table.resources[r].models;
    if (models == 0) owns_all = owns_all || terms[r].has_quota;
    if (models != 0) of_models += terms[r].quota;
    if (terms[r].quota > 0) own_models |= models;
  }
  std::int64_t on_others = 0;
  for (std::size_t m = 0; m < placed.size(); ++m) {
    if ((own_models >> m & 1) == 0) on_others += placed[m];
  }
  bool owns_some = false;
  for (std::size_t r = 0; r < terms.size(); ++r) {
    const ModelSet models = table.resources[r].models;
    std::int64_t use = 0;
    std::int64_t more = 0;
    for (std::size_t m = 0; m < placed.size(); ++m) {
      if (models != 0 && (models >> m & 1) == 0) continue;
      use += used[m] + placed[m];
      more += placed[m];
    }
    if (more == 0 || !is_owned(r)) continue;
    owns_some = owns_some || terms[r].has_quota;
    if (terms[r].has_quota ? use <= terms[r].quota : models == 0 ? on_others == 0 || use <= of_models : owns_all)
      continue;
    return false;
  }
  return owns_some;
}

std::string OwnerScene::print(VictimSet set) const {
  std::string text;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    text += (steps_[i].is_gang ? " job " : " surplus of ") + std::to_string(steps_[i].job);
  }
  return text.empty() ? " nobody" : text;
}

std::string OwnerScene::print() const {
  std::string text;
  for (const VictimStep& step : steps_) {
    text +=
        (step.is_gang ? "job " : "surplus of ") + std::to_string(step.job) + " of " + queue(step.queue).name + " on";
    for (const Allocation& task : step.holds)
      text += " node " + std::to_string(task.node) + " devices " + std::to_string(task.devices);
    text += "\n";
  }
  return text;
}

}  // namespace berth::test
