// Departments from a line of text, so that a test shows who owns what.
//
//   departments_from(cluster, "corp / ads < corp gpu=8 gpu.lend=2 / search < corp A100=4 gpu.limit=16 weight=2 band=1")
//
// A queue is "<name> [< <parent>]" and key=value: weight, band, budget (milli-GPU-seconds an hour), lost, used (decayed
// use), or a resource (cpu, memory, gpu, a device model of the cluster) with its quota, and .limit, .borrow, .lend,
// .weight of it. GPUs are written in devices, CPU in cores, memory in MiB. loan("ads", "search", "gpu", 2, 100) adds a
// loan until 100. Wrong text ends the test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/quota_ledger.h"
#include "tests/builders.h"

namespace berth::test {

struct Departments {
  std::vector<Queue> queues;
  QuotaTable table;

  std::int32_t queue(std::string_view name) const {
    for (std::size_t q = 0; q < queues.size(); ++q) {
      if (queues[q].name == name) return static_cast<std::int32_t>(q);
    }
    std::cerr << "test text: no queue '" << name << "'\n";
    std::abort();
  }
  std::size_t resource(std::string_view name) const {
    for (std::size_t r = 0; r < table.resources.size(); ++r) {
      if (table.resources[r].name == name) return r;
    }
    std::cerr << "test text: no resource '" << name << "'\n";
    std::abort();
  }
  void loan(std::string_view lender, std::string_view borrower, std::string_view what, std::int64_t devices,
            std::int64_t until = kNoLimit) {
    table.loans.push_back({.id = static_cast<std::int64_t>(table.loans.size() + 1),
                           .lender = queue(lender),
                           .borrower = queue(borrower),
                           .resource = static_cast<std::int32_t>(resource(what)),
                           .amount = devices * 1000,
                           .until = Seconds(until),
                           .return_grace = Seconds(0)});
  }
};

inline std::size_t resource_named(Departments& departments, const Cluster& cluster, const std::string& name) {
  std::vector<QuotaResource>& resources = departments.table.resources;
  for (std::size_t r = 0; r < resources.size(); ++r) {
    if (resources[r].name == name) return r;
  }
  QuotaResource resource{.name = name};
  if (name == "cpu") resource.kind = ResourceKind::kCpu;
  if (name == "memory") resource.kind = ResourceKind::kMemory;
  for (std::size_t m = 0; m < cluster.models.size(); ++m) {
    if (cluster.models[m].name == name) resource.models = ModelSet{1} << m;
  }
  if (resource.kind == ResourceKind::kGpu && name != "gpu" && resource.models == 0) {
    std::cerr << "test text: no device model '" << name << "'\n";
    std::abort();
  }
  resources.push_back(resource);
  for (std::vector<QuotaTerms>& terms : departments.table.terms) terms.resize(resources.size());
  return resources.size() - 1;
}

inline void set_term(Departments& departments, const Cluster& cluster, std::string_view key, std::string_view value) {
  Queue& queue = departments.queues.back();
  const std::int64_t number = must(read_integer(value));
  if (key == "weight") {
    queue.weight = static_cast<double>(number);
  } else if (key == "band") {
    queue.priority_band = static_cast<std::int32_t>(number);
  } else if (key == "budget") {
    queue.eviction_budget = number;
  } else if (key == "lost") {
    queue.lost_this_hour = number;
  } else if (key == "used") {
    queue.decayed_usage = static_cast<double>(number);
  } else {
    const std::vector<std::string_view> parts = split(key, '.');
    const std::size_t r = resource_named(departments, cluster, std::string(parts.front()));
    QuotaTerms& terms = departments.table.terms.back()[r];
    const std::int64_t amount = number * (parts.front() == "memory" ? 1 : 1000);
    const std::string_view what = parts.size() > 1 ? parts[1] : "quota";
    if (what == "quota") {
      terms.has_quota = true;
      terms.quota = amount;
    } else if (what == "weight") {
      terms.weight = static_cast<double>(number);
    } else {
      (what == "limit" ? terms.limit : what == "borrow" ? terms.borrow_limit : terms.lend_limit) = amount;
    }
  }
}

inline Departments departments_from(const Cluster& cluster, std::string_view text) {
  Departments departments;
  for (const std::string_view part : split(text, '/')) {
    Queue queue;
    queue.id = static_cast<std::int64_t>(departments.queues.size() + 1);
    std::vector<std::string_view> words;
    for (const std::string_view word : split(part, ' ')) {
      if (!trim(word).empty()) words.push_back(trim(word));
    }
    queue.name = words.front();
    std::size_t next = 1;
    if (words.size() > 2 && words[1] == "<") {
      queue.parent = departments.queue(words[2]);
      next = 3;
    }
    departments.queues.push_back(queue);
    departments.table.terms.emplace_back(departments.table.resources.size());
    for (; next < words.size(); ++next) {
      const std::vector<std::string_view> pair = split(words[next], '=');
      set_term(departments, cluster, pair.front(), pair.back());
    }
  }
  return departments;
}

}  // namespace berth::test
