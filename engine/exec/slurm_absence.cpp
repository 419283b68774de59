#include "engine/exec/slurm_absence.h"

#include <fmt/format.h>

#include <sstream>

#include "engine/exec/slurm_records.h"

namespace berth {

SlurmAbsences::SlurmAbsences(std::string path) : path_(std::move(path)) {
  std::istringstream lines(read_whole_file(path_).value_or(""));
  std::string name;
  for (Absence row; lines >> name >> row.first_ms >> row.last_ms >> row.listings;) before_[name] = row;
}

bool SlurmAbsences::note(const std::string& name, std::int64_t listed_ms, bool is_whole) {
  const auto known = before_.find(name);
  Absence row = known == before_.end() ? Absence{listed_ms, 0, 0} : known->second;
  if (listed_ms < row.first_ms || listed_ms < row.last_ms) row = {listed_ms, 0, 0};  // the clock was set back
  if (listed_ms > row.last_ms) ++row.listings;                                       // the same one may be read twice
  row.last_ms = listed_ms;
  now_[name] = row;
  const Seconds limit = is_whole ? kGoneAfter : kGoneAfterUnreadable;
  return row.listings >= kGoneListings && listed_ms - row.first_ms >= limit.value() * 1000;
}

Status SlurmAbsences::save() const {
  if (before_.empty() && now_.empty()) return {};
  std::string lines;
  for (const auto& [name, row] : now_)
    lines += fmt::format("{} {} {} {}\n", name, row.first_ms, row.last_ms, row.listings);
  return replace_file(path_, lines);
}

}  // namespace berth
