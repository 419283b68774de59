#include "engine/runtime/import_queues.h"

#include <fmt/format.h>

#include <set>

#include "engine/base/file_bytes.h"
#include "engine/base/text.h"
#include "engine/exec/process.h"
#include "engine/exec/slurm_accounts.h"
#include "engine/store/names.h"
#include "engine/store/queue_records.h"
#include "engine/store/quota_records.h"

namespace berth {

namespace {

constexpr std::string_view kRootAccount = "root";

Result<std::string> accounts_text(const std::string& file) {
  if (!file.empty()) return read_file_bytes(file);
  const Result<ProcessOutput> said = run_process({.command = {"sacctmgr", "--noheader", "--parsable2", "show", "assoc",
                                                              fmt::format("format={}", kSacctmgrFormat)}});
  if (!said.ok()) {
    return said.status().code() == Code::kNotFound ? Status(Code::kUnavailable, "there is no sacctmgr here",
                                                            "install slurm-client, or name a file of what it prints")
                                                   : said.status();
  }
  if (!said->ok()) return Status(Code::kUnavailable, said->complaint("sacctmgr"));
  return said->output;
}

class SlurmQueueImport {
 public:
  SlurmQueueImport(Change& change, QueueImport& report) : change_(change), report_(report) {}

  // Parents come before their children, as sacctmgr prints them.
  Status add(const SlurmAssociation& account) {
    if (account.account == kRootAccount) return {};
    if (!seen_.insert(account.account).second) {
      report_.left_out.push_back(fmt::format("{}: again on cluster {}", account.account, account.cluster));
      return {};
    }
    const Result<std::int64_t> known = find_id(change_.db(), Thing::kQueue, account.account);
    if (known.ok()) {
      ++report_.updated;
    } else if (known.status().code() != Code::kNotFound) {
      return known.status();
    } else {
      const std::string parent = account.parent == kRootAccount ? "" : account.parent;
      BERTH_TRY(add_queue(change_, {.name = account.account, .parent = parent}));
      ++report_.created;
    }
    if (account.shares)
      BERTH_TRY(alter_queue_share(change_, account.account, {.weight = static_cast<double>(*account.shares)}));
    BERTH_TRY(set_limits(account));
    tell_rest(account);
    return {};
  }

 private:
  Status set_limits(const SlurmAssociation& account) {
    std::vector<QuotaSetting> settings;
    for (const auto& [name, amount] : account.group_limit) {
      QuotaSetting setting{.column = QuotaColumn::kLimit, .resource = "", .amount = amount};
      if (name == "cpu") {
        setting = {.column = QuotaColumn::kLimit, .resource = "cpu", .amount = amount * 1000};
      } else if (name == "mem") {
        setting.resource = "memory";
      } else if (name == "gres/gpu") {
        setting = {.column = QuotaColumn::kLimit, .resource = "gpu", .amount = amount * 1000};
      } else if (name.starts_with("gres/gpu:")) {
        const std::string model = name.substr(std::string_view("gres/gpu:").size());
        if (!find_id(change_.db(), Thing::kDeviceModel, model).ok()) {
          leave_out(account, fmt::format("at most {} of device model {}, which is not there", amount, model));
          continue;
        }
        setting = {.column = QuotaColumn::kLimit, .resource = model, .amount = amount * 1000};
      } else {
        leave_out(account, fmt::format("at most {} of {}", amount, name));
        continue;
      }
      settings.push_back(std::move(setting));
    }
    return settings.empty() ? Status() : set_quota(change_, account.account, settings);
  }

  void tell_rest(const SlurmAssociation& account) {
    if (account.group_jobs) leave_out(account, fmt::format("at most {} jobs at once", *account.group_jobs));
    if (account.max_jobs) leave_out(account, fmt::format("at most {} jobs of a user at once", *account.max_jobs));
    if (account.max_submits) leave_out(account, fmt::format("at most {} jobs of a user in all", *account.max_submits));
    if (account.max_wall) leave_out(account, fmt::format("jobs of at most {}", print_duration(*account.max_wall)));
    for (const auto& [name, amount] : account.job_limit)
      leave_out(account, fmt::format("at most {} of {} in a job", amount, name));
  }

  void leave_out(const SlurmAssociation& account, const std::string& what) {
    report_.left_out.push_back(fmt::format("{}: {}", account.account, what));
  }

  Change& change_;
  QueueImport& report_;
  std::set<std::string> seen_;
};

}  // namespace

Result<QueueImport> import_slurm_queues(Runtime& runtime, const std::string& file) {
  BERTH_ASSIGN(const std::string text, accounts_text(file));
  const std::vector<SlurmAssociation> rows = read_slurm_associations(text);
  if (rows.empty()) {
    return Status(Code::kInvalid,
                  fmt::format("no accounts in what {} says", file.empty() ? "sacctmgr" : "'" + file + "'"),
                  fmt::format("sacctmgr --noheader --parsable2 show assoc format={}", kSacctmgrFormat));
  }
  QueueImport report;
  std::int64_t users = 0;
  const Result<std::int64_t> changed = runtime.change([&](Change& change) -> Status {
    SlurmQueueImport import(change, report);
    for (const SlurmAssociation& row : rows) {
      if (!row.user.empty()) {
        ++users;
        continue;
      }
      BERTH_TRY(import.add(row).prefixed(fmt::format("account {}", row.account)));
    }
    return {};
  });
  BERTH_TRY(changed.status());
  if (users > 0)
    report.left_out.push_back(fmt::format("{}: whoever submits names a queue", print_counted(users, "user")));
  return report;
}

}  // namespace berth
