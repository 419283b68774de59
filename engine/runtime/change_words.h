// What it means in words that a row differs: "started", "pool train -> serve", "quota of A100 8 -> 16".
//
// Tables that only follow from others (what queues use, who borrows) have no words; those that this file does not know
// but that have names get "created", "dropped" and "column before -> after".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/store/state_difference.h"

namespace berth {

// What DIFF STATE OF can be asked for.
enum class ChangeScope : std::uint8_t { kJobs, kNodes, kQueues, kSettings, kNone };

struct ObjectChange {
  ChangeScope scope = ChangeScope::kNone;
  std::string kind;  // "job", "node type"; empty = no words for it
  std::string name;
  std::vector<std::string> words;
};

ChangeScope scope_of_table(const std::string& table);
// Without words when there is neither a row before nor after.
ObjectChange words_of_change(const std::string& table, const RowView& before, const RowView& after, PastNames& names);
// Of a row of loans, as its borrower sees it.
std::string borrower_words(const RowView& before, const RowView& after, PastNames& names);

}  // namespace berth
