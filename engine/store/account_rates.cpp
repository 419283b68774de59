#include "engine/store/account_rates.h"

#include <algorithm>
#include <bit>

namespace berth {

namespace {

class AccountSheet {
 public:
  AccountSheet(const QuotaUse& use, const QueueUseRows& held, std::span<const ModelName> models)
      : use_(use), models_(models), rest_(use.queue_count(), std::vector<std::int64_t>(models.size(), 0)) {
    for (const auto& [key, row] : held) {
      const std::int32_t queue = queue_index(use.queues(), key.first);
      const auto model = std::ranges::lower_bound(models, key.second, {}, &ModelName::id);
      if (queue < 0 || model == models.end() || model->id != key.second) continue;
      rest_[static_cast<std::size_t>(queue)][static_cast<std::size_t>(model - models.begin())] += row.gpu;
    }
    for (std::size_t r = 0; r < use.resources().size(); ++r) {
      if (use.resources()[r].kind == ResourceKind::kGpu) gpu_resources_.push_back({.index = r, .models = models_of(r)});
    }
    std::ranges::stable_sort(gpu_resources_, {}, [](const GpuResource& each) { return std::popcount(each.models); });
    owned_.resize(gpu_resources_.size());
    for (const Queue& queue : use.queues()) table_.queues.push_back(queue.name);
    for (const ModelName& model : models) table_.names.push_back(model.name);
    for (GpuResource& each : gpu_resources_) each.name = name_of(each);
    table_.rates.resize(table_.queues.size() * table_.names.size());
  }

  void cover(std::span<const Lending> ledger) {
    find_owned();
    for (std::size_t g = 0; g < gpu_resources_.size(); ++g) {
      for (std::size_t q = 0; q < use_.queue_count(); ++q) cover_own(g, q);
      for (const Lending& pair : ledger) {
        if (static_cast<std::size_t>(pair.resource) == gpu_resources_[g].index && pair.lender >= 0) lend(g, pair);
      }
      for (std::size_t q = 0; q < use_.queue_count(); ++q) {
        if (owned_[g][q] > 0) table_.at(q, gpu_resources_[g].name).owned += owned_[g][q];
      }
    }
    for (std::size_t q = 0; q < use_.queue_count(); ++q) {
      for (std::size_t m = 0; m < models_.size(); ++m) {
        if (rest_[q][m] == 0) continue;
        AccountRates& rates = table_.at(q, m);
        rates.borrowed += rest_[q][m];
        rates.unowned += rest_[q][m];
      }
    }
  }

  void add_loans() {
    for (const LoanTerms& loan : use_.quotas().loans) {
      const auto found = std::ranges::find(gpu_resources_, static_cast<std::size_t>(loan.resource),
                                           [](const GpuResource& each) { return each.index; });
      if (found == gpu_resources_.end()) continue;
      table_.at(static_cast<std::size_t>(loan.borrower), found->name).loaned_in += loan.amount;
      table_.at(static_cast<std::size_t>(loan.lender), found->name).loaned_out += loan.amount;
    }
  }

  AccountTable take() { return std::move(table_); }

 private:
  struct GpuResource {
    std::size_t index;  // of QuotaUse
    ModelSet models;
    std::size_t name = 0;  // of the table
  };

  ModelSet models_of(std::size_t resource) const {
    const ModelSet models = use_.resources()[resource].models;
    const ModelSet all = models_.size() >= 64 ? ~ModelSet{0} : (ModelSet{1} << models_.size()) - 1;
    return models == 0 ? all : models;
  }
  // A resource of one model is that model.
  std::size_t name_of(const GpuResource& resource) {
    const auto model = static_cast<std::size_t>(std::countr_zero(resource.models));
    if (std::popcount(resource.models) == 1 && model < models_.size()) return model;
    const std::string& name = use_.resources()[resource.index].name;
    const auto found = std::ranges::find(table_.names, name);
    if (found != table_.names.end()) return static_cast<std::size_t>(found - table_.names.begin());
    table_.names.push_back(name);
    return table_.names.size() - 1;
  }

  // What each queue owns of a resource that no narrower resource and no queue below owns already.
  void find_owned() {
    const std::size_t queues = use_.queue_count();
    std::vector<std::pair<int, std::size_t>> deepest_first;
    for (std::size_t q = 0; q < queues; ++q) {
      int depth = 0;
      for (std::int32_t up = use_.parent(q); up >= 0; up = use_.parent(static_cast<std::size_t>(up))) ++depth;
      deepest_first.emplace_back(-depth, q);
    }
    std::ranges::sort(deepest_first);
    std::vector<std::vector<std::int64_t>> of_branch(gpu_resources_.size(), std::vector<std::int64_t>(queues, 0));
    for (std::size_t g = 0; g < gpu_resources_.size(); ++g) {
      owned_[g].assign(queues, 0);
      for (const auto& [depth, q] : deepest_first) {
        std::int64_t counted = of_branch[g][q];  // below it
        for (std::size_t n = 0; n < g; ++n) {
          if ((gpu_resources_[n].models & ~gpu_resources_[g].models) == 0) counted += of_branch[n][q];
        }
        owned_[g][q] = std::max<std::int64_t>(0, use_.quota(q, gpu_resources_[g].index) - counted);
        of_branch[g][q] += owned_[g][q];
        if (use_.parent(q) >= 0) of_branch[g][static_cast<std::size_t>(use_.parent(q))] += of_branch[g][q];
      }
    }
  }

  bool has(std::size_t g, std::size_t model) const { return ((gpu_resources_[g].models >> model) & 1) != 0; }

  std::int64_t wanted(std::size_t g, std::size_t queue) const {
    std::int64_t sum = 0;
    for (std::size_t m = 0; m < models_.size(); ++m) sum += has(g, m) ? rest_[queue][m] : 0;
    return sum;
  }

  // Takes `amount`, at most what is wanted, from what the queue uses and nothing covers yet: of each model in
  // proportion. Calls give(model, part).
  template <class Give>
  void take_in_proportion(std::size_t g, std::size_t queue, std::int64_t amount, std::int64_t all, Give&& give) {
    for (std::size_t m = 0; m < models_.size() && all > 0; ++m) {
      if (!has(g, m) || rest_[queue][m] == 0) continue;
      const std::int64_t part = amount * rest_[queue][m] / all;
      amount -= part;
      all -= rest_[queue][m];
      rest_[queue][m] -= part;
      if (part > 0) give(m, part);
    }
  }

  void cover_own(std::size_t g, std::size_t queue) {
    if (owned_[g][queue] == 0) return;
    const std::int64_t all = wanted(g, queue);
    const std::int64_t amount = std::min(owned_[g][queue], all);
    owned_[g][queue] -= amount;
    take_in_proportion(g, queue, amount, all, [&](std::size_t m, std::int64_t part) {
      AccountRates& rates = table_.at(queue, m);
      rates.owned += part;
      rates.used_own += part;
    });
  }

  void lend(std::size_t g, const Lending& pair) {
    const auto borrower = static_cast<std::size_t>(pair.borrower);
    const auto lender = static_cast<std::size_t>(pair.lender);
    const std::int64_t all = wanted(g, borrower);
    const std::int64_t amount = std::min({pair.amount, owned_[g][lender], all});
    owned_[g][lender] -= amount;
    take_in_proportion(g, borrower, amount, all, [&](std::size_t m, std::int64_t part) {
      table_.at(borrower, m).borrowed += part;
      AccountRates& rates = table_.at(lender, m);
      rates.owned += part;
      rates.lent += part;
    });
  }

  const QuotaUse& use_;
  std::span<const ModelName> models_;
  std::vector<std::vector<std::int64_t>> rest_;   // [queue][model]: used, and covered by nothing yet
  std::vector<GpuResource> gpu_resources_;        // the narrowest first
  std::vector<std::vector<std::int64_t>> owned_;  // [of gpu_resources_][queue]: not used or lent yet
  AccountTable table_;
};

}  // namespace

AccountTable work_out_accounts(const QuotaUse& use, const QueueUseRows& held, std::span<const ModelName> models,
                               std::span<const Lending> ledger) {
  AccountSheet sheet(use, held, models);
  sheet.cover(ledger);
  sheet.add_loans();
  return sheet.take();
}

}  // namespace berth
