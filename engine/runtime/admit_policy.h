// What an admit policy makes of a job that is submitted: changed, or refused with its words.
//
// The script sees the job as a table, the queues' use and quota, and what is free. It is asked before anything else is;
// a script that errs, overruns its budget or gives back what is no job refuses the submission with the reason: better
// nobody gets in than the wrong ones.
#pragma once

#include "engine/store/job_records.h"

namespace berth {

// For many jobs of one Change: what the script sees of queues and nodes is read once, and kept up to date by note().
class AdmitPolicy {
 public:
  static Result<AdmitPolicy> make(Change& change);
  AdmitPolicy(AdmitPolicy&&) noexcept;
  ~AdmitPolicy();
  // Changes `request` as the setting admit_policy wants it; nothing without one. kInvalid with the policy's name when
  // it refuses or fails.
  Status admit(JobRequest& request) const;
  // It has been submitted.
  void note(const JobRequest& request);

 private:
  struct Impl;
  explicit AdmitPolicy(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;  // null = no policy is set
};

}  // namespace berth
