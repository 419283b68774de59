// What departments own: quota, limits and loans per queue and resource, as one round sees them.
//
// A resource is CPU, memory, all GPUs, or the GPUs of some device models (one model, or a family of several). A task on
// an A100 counts against every GPU resource whose set of models has the A100 in it. Amounts are milli-cores, MiB and
// milli-GPU. Dates are resolved when the table is made: it says what holds at one moment, and which loans end when.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/model/shape.h"

namespace berth {

enum class ResourceKind : std::uint8_t { kCpu, kMemory, kGpu };

struct QuotaResource {
  std::string name;  // "cpu", "memory", "gpu", "A100"
  ResourceKind kind = ResourceKind::kGpu;
  ModelSet models = 0;  // of kGpu: those that count; 0 = all

  bool operator==(const QuotaResource&) const = default;

  // GPUs of some of the models of `whole`, not of all.
  bool lies_within(const QuotaResource& whole) const {
    return kind == ResourceKind::kGpu && whole.kind == ResourceKind::kGpu && models != 0 && models != whole.models &&
           (whole.models == 0 || (models & ~whole.models) == 0);
  }
};

inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max() / 4;

// One amount a resource, in the order of QuotaTable::resources.
using Amounts = boost::container::small_vector<std::int64_t, 6>;

// Of one queue and one resource. What is not said: no quota, no limits, the queue's weight.
struct QuotaTerms {
  bool has_quota = false;
  std::int64_t quota = 0;  // loans not yet counted
  std::int64_t limit = kNoLimit;
  std::int64_t borrow_limit = kNoLimit;
  std::int64_t lend_limit = kNoLimit;
  double weight = -1;  // < 0 = the queue's

  bool operator==(const QuotaTerms&) const = default;
};

// A loan that holds now.
struct LoanTerms {
  std::int64_t id = 0;
  std::int32_t lender = 0;    // queue index
  std::int32_t borrower = 0;  // queue index
  std::int32_t resource = 0;
  std::int64_t amount = 0;
  Seconds until{kNoLimit};  // kNoLimit = until returned
  Seconds return_grace;

  bool operator==(const LoanTerms&) const = default;
};

// What holds from the moment on: ends of loans where dates change more than that, and dates within a victim's grace.
struct QuotaAtEnd {
  Seconds from;
  std::vector<std::vector<QuotaTerms>> terms;  // as in QuotaTable
  std::vector<LoanTerms> loans;                // the same

  bool operator==(const QuotaAtEnd&) const = default;
};

// Empty resources = nobody has a quota: every job may start.
struct QuotaTable {
  std::vector<QuotaResource> resources;
  std::vector<std::vector<QuotaTerms>> terms;  // [queue][resource]
  std::vector<LoanTerms> loans;                // in id order
  std::vector<LoanTerms> ended_loans;          // over since the last round, or jobs stop for them yet: it is due back
  std::vector<QuotaAtEnd> at_ends;             // by moment

  bool operator==(const QuotaTable&) const = default;
};

}  // namespace berth
