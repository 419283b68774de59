#include "engine/runtime/quota_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/round/timeline.h"

namespace berth {

namespace {

const Queue* queue_with(const Snapshot& snapshot, std::int64_t id) {
  const auto found = std::ranges::find(snapshot.queues, id, &Queue::id);
  return found == snapshot.queues.end() ? nullptr : &*found;
}

// The loan of it that ends next and is in its return grace.
const LoanTerms* loan_to_return(const Snapshot& snapshot, std::int32_t resource) {
  const LoanTerms* next = nullptr;
  for (const LoanTerms& loan : snapshot.quotas.loans) {
    const bool is_due =
        loan.until > snapshot.now && loan.return_grace > Seconds(0) && loan.until - loan.return_grace <= snapshot.now;
    if (loan.resource == resource && is_due && (next == nullptr || loan.until < next->until)) next = &loan;
  }
  return next;
}

// The first loan of that resource that has just ended.
const LoanTerms* ended_loan(const Snapshot& snapshot, std::int32_t resource) {
  const auto loan = std::ranges::find(snapshot.quotas.ended_loans, resource, &LoanTerms::resource);
  return loan == snapshot.quotas.ended_loans.end() ? nullptr : &*loan;
}

// " (4 A100 of it on loan until ...)"; empty = no loan to the queue ends.
std::string say_borrowed_quota(const Snapshot& snapshot, std::int32_t queue, std::int32_t resource) {
  for (const LoanTerms& loan : snapshot.quotas.loans) {
    if (loan.borrower != queue || loan.resource != resource || loan.until.value() >= kNoLimit) continue;
    return fmt::format(" ({} of it on loan until {}: for jobs that end before)",
                       describe_amount(snapshot.quotas.resources[static_cast<std::size_t>(resource)], loan.amount),
                       print_time(loan.until));
  }
  return {};
}

// If all of it that may counts for that resource, until it ends.
bool is_within_quota(const Waiting& waiting, const Snapshot& snapshot, const QuotaLedger& quotas, std::int32_t queue,
                     std::size_t resource) {
  const Job* const found = find_job(snapshot.jobs, waiting.job);
  if (found == nullptr) return false;
  Job job = *found;
  const ModelSet models = quotas.resource(resource).models;
  for (TaskGroup& group : job.groups) {
    const ModelSet both = group.shape.models == 0 ? models : group.shape.models & models;
    if (both != 0) group.shape.models = both;
  }
  const std::int64_t left = quotas.left_of_quota(queue, resource, last_end_of(*found, snapshot.now));
  return quotas.demand_to_start(job)[resource] <= left;
}

// "4 GPUs", or "4 GPUs (6 GPUs after the next round, for jobs ahead of it)".
std::string say_use(const QuotaResource& resource, std::int64_t now, std::int64_t after) {
  const std::string used = describe_amount(resource, now);
  if (after == now) return used;
  return fmt::format("{} ({} after the next round, for jobs ahead of it)", used, describe_amount(resource, after));
}

}  // namespace

SaidReason say_quota(const Waiting& waiting, const Snapshot& snapshot, const QuotaLedger& quotas,
                     const QuotaLedger& after, const QuotaWait& waiting_helps) {
  const Queue* queue = queue_with(snapshot, waiting.queue);
  const auto resource = std::ranges::find(snapshot.quotas.resources, waiting.resource, &QuotaResource::name);
  if (queue == nullptr || resource == snapshot.quotas.resources.end()) {
    return {std::string(reason_words(waiting.reason)), ""};
  }
  const auto q = static_cast<std::int32_t>(queue - snapshot.queues.data());
  const auto r = static_cast<std::size_t>(resource - snapshot.quotas.resources.begin());
  const QuotaTerms& terms = snapshot.quotas.terms[static_cast<std::size_t>(q)][r];
  const std::string used = say_use(*resource, quotas.used(q, r), after.used(q, r));
  const std::string lacks = describe_amount(*resource, waiting.short_by);
  // What the job alone asks for above the limit: it may start on other models.
  const std::int64_t above_alone = waiting.short_by - after.used(q, r);
  const bool waits_elsewhere = waiting_helps.helps && waiting_helps.date.empty() && above_alone > 0;
  std::string wait;
  if (waiting_helps.helps && waiting_helps.date.empty())
    wait = waits_elsewhere ? "wait for running jobs to end" : fmt::format("wait for jobs of {} to end", queue->name);
  if (waiting_helps.helps && !waiting_helps.date.empty()) wait = fmt::format("wait until {}", waiting_helps.date);
  const auto raise = [&](std::string sentence, Remedy remedy, Remedy or_remedy = Remedy::kNone) {
    return SaidReason{.sentence = std::move(sentence),
                      .next_step = wait,
                      .remedy = remedy,
                      .or_remedy = or_remedy,
                      .about = {.queue = q, .resource = r},
                      .about_queue = queue->name};
  };
  switch (waiting.reason) {
    case Reason::kLimit:
      if (above_alone > 0 && !waiting_helps.helps) {
        return raise(
            fmt::format("queue {} has a limit of {}, and the job alone is {} above it: it cannot start before "
                        "that limit is higher",
                        queue->name, describe_amount(*resource, terms.limit), describe_amount(*resource, above_alone)),
            Remedy::kHigherLimit);
      }
      return raise(fmt::format("queue {} uses {} of its limit of {}; the job is {} above it{}", queue->name, used,
                               describe_amount(*resource, terms.limit), lacks,
                               waits_elsewhere ? ", and on other models there is no room for it now" : ""),
                   Remedy::kHigherLimit);
    case Reason::kLenderKeeps:
      if (is_within_quota(waiting, snapshot, quotas, q, r)) {
        return {fmt::format("queue {} has quota left for it, but others have borrowed that, and what is idle is quota "
                            "that its owners do not lend",
                            queue->name),
                "wait until a round takes back what was borrowed", Remedy::kMoreLending};
      }
      if (const LoanTerms* loan = loan_to_return(snapshot, static_cast<std::int32_t>(r)); loan != nullptr) {
        const std::string& lender = snapshot.queues[static_cast<std::size_t>(loan->lender)].name;
        const std::string end = print_time(loan->until);
        return {fmt::format("it would still run at {}, when loan {} ends, and take {} more than queue {} owns then: "
                            "what is free then is kept for jobs of queue {} within its quota",
                            end, loan->id, lacks, queue->name, lender),
                fmt::format("wait until {}", end), Remedy::kEarlierEnd};
      }
      if (const LoanTerms* loan = ended_loan(snapshot, static_cast<std::int32_t>(r)); loan != nullptr) {
        return {
            fmt::format("it would take {} more than the quota of queue {} ({}); loan {} has just ended, and in this "
                        "round what is free is first for jobs of queue {} within its quota",
                        lacks, queue->name, describe_amount(*resource, quotas.quota(q, r)), loan->id,
                        snapshot.queues[static_cast<std::size_t>(loan->lender)].name),
            "wait for the round after"};
      }
      return raise(fmt::format("it would take {} more than the quota of queue {} ({}), and what is left is quota that "
                               "its owners do not lend",
                               lacks, queue->name, describe_amount(*resource, quotas.quota(q, r))),
                   Remedy::kMoreQuota, Remedy::kMoreLending);
    default: {
      const std::string quota = fmt::format("{}{}", describe_amount(*resource, quotas.quota(q, r)),
                                            say_borrowed_quota(snapshot, q, static_cast<std::int32_t>(r)));
      const std::string may = terms.borrow_limit >= kNoLimit || terms.borrow_limit == 0
                                  ? "may not borrow"
                                  : fmt::format("may borrow {}", describe_amount(*resource, terms.borrow_limit));
      if (above_alone > 0 && !waiting_helps.helps) {
        return raise(fmt::format("queue {} has a quota of {} and {}; the job alone is {} above that: it cannot start "
                                 "before the queue may use more",
                                 queue->name, quota, may, describe_amount(*resource, above_alone)),
                     Remedy::kMoreQuota);
      }
      return raise(fmt::format("queue {} uses {} of its quota of {} and {}; the job needs {} more", queue->name, used,
                               quota, may, lacks),
                   Remedy::kMoreQuota);
    }
  }
}

}  // namespace berth
