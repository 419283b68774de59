// Launches that Slurm should list and does not: one listing without them proves nothing.
//
// A controller that has just started, or a squeue that was cut off, may leave out what runs. So a launch of which
// neither accounting nor its own records tell the end is gone only when several listings in a row, over some minutes,
// had no job of its name. Listings with lines that cannot be read may hide it in them: they have to say so for longer.
// What is known of that lies in a small file of the executor's folder, for the next sync may be another process.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/base/status.h"
#include "engine/base/units.h"

namespace berth {

inline constexpr std::int64_t kGoneListings = 3;
inline constexpr Seconds kGoneAfter{180};
inline constexpr Seconds kGoneAfterUnreadable{3600};

class SlurmAbsences {
 public:
  explicit SlurmAbsences(std::string path);

  // The listing of that moment has no job of that name. True when it is gone.
  bool note(const std::string& name, std::int64_t listed_ms, bool is_whole);
  // What was not noted since is listed again, or nobody asks any more: it is forgotten.
  Status save() const;

 private:
  struct Absence {
    std::int64_t first_ms = 0;
    std::int64_t last_ms = 0;
    std::int64_t listings = 0;
  };
  std::string path_;
  std::map<std::string, Absence> before_;
  std::map<std::string, Absence> now_;
};

}  // namespace berth
