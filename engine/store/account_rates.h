// What each queue has and uses of GPUs at one moment, so that it adds up: the sums behind chargeback.
//
// Every owned GPU is counted once, though quotas of a model, its family and all GPUs overlap: a quota owns what the
// narrower quotas, and those of queues below, do not own already. Method, the narrowest resource first:
//   1. what a queue uses is covered by what it owns of that resource, of each model in proportion to what it uses,
//   2. what is left is borrowed from whom the borrow ledger names for that resource, as far as those have it idle.
// What no resource covers is borrowed from nobody. So for each queue and device model, and in sum,
//   owned = used of own + lent + idle        used = used of own + borrowed
// and what all borrow is what all lend and what is nobody's. Used and lent GPUs are of the model in use; idle and
// loaned ones have the name of what the quota is of.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/store/quota_use.h"

namespace berth {

// Milli-GPU, or milli-GPU-seconds where it is added up.
struct AccountRates {
  std::int64_t owned = 0;  // loans counted
  std::int64_t used_own = 0;
  std::int64_t borrowed = 0;
  std::int64_t unowned = 0;  // of borrowed: nobody's
  std::int64_t lent = 0;
  std::int64_t loaned_in = 0;
  std::int64_t loaned_out = 0;

  bool operator==(const AccountRates&) const = default;
};

// Of every queue and name; those without anything are zeros.
struct AccountTable {
  std::vector<std::string> queues;  // by index of QuotaUse
  std::vector<std::string> names;   // device models, then families and "gpu" where there are quotas of them
  std::vector<AccountRates> rates;  // [queue * names + name]

  AccountRates& at(std::size_t queue, std::size_t name) { return rates[queue * names.size() + name]; }
};

// What one queue uses of another's quota; indices of QuotaUse.
struct Lending {
  std::int32_t borrower = 0;
  std::int32_t lender = -1;  // -1 = nobody
  std::int32_t resource = 0;
  std::int64_t amount = 0;
};

struct ModelName {
  std::int64_t id = 0;
  std::string name;
};

// `models` in id order, as ModelSet counts them.
AccountTable work_out_accounts(const QuotaUse& use, const QueueUseRows& held, std::span<const ModelName> models,
                               std::span<const Lending> ledger);

}  // namespace berth
