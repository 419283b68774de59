#include "engine/exec/slurm_submit.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "engine/base/at_once.h"
#include "engine/base/failpoint.h"
#include "engine/base/text.h"
#include "engine/exec/slurm_pilot.h"

namespace berth {

SlurmSubmitter::Item SlurmSubmitter::prepare(const Launch& launch) const {
  Item item;
  item.launch = &launch;
  item.folder = SlurmLaunchFolder(slurm_launch_folder(options_, launch.key));
  if (const auto submission = item.folder.submission()) {
    settle(item, {DeliveryState::kDone, std::to_string(submission->job), ""});
    return item;
  }
  auto components = slurm_components(launch, options_.shards_per_device);
  if (!components.ok()) {
    settle(item, {DeliveryState::kRefused, "", components.status().message()});
    return item;
  }
  item.components = *std::move(components);
  const auto made = item.folder.make();
  if (!made.ok()) {
    settle(item, {DeliveryState::kUnknown, "", made.status().message()});
    return item;
  }
  failpoint("mid_delivery");
  item.is_repetition = !*made;
  if (item.is_repetition && settle_by_claim(item)) return item;
  const Status written = item.folder.write_launch(launch, slurm_script(launch, item.components, options_));
  if (!written.ok()) settle(item, {DeliveryState::kUnknown, "", written.message()});
  return item;
}

void SlurmSubmitter::settle(Item& item, Delivery delivery) const {
  item.is_settled = true;
  item.delivery = std::move(delivery);
}

bool SlurmSubmitter::settle_by_claim(Item& item) const {
  const auto holder = item.folder.claim();
  if (!holder) return false;
  if (holder->starts_with(kPilotClaim)) {
    settle(item, {DeliveryState::kDone, "", ""});
  } else if (const auto job = job_of_claim(holder)) {
    // Its id is written down, so that the next question is answered by one small file.
    (void)item.folder.note_submission({*job, wall_clock_ms()});
    settle(item, {DeliveryState::kDone, std::to_string(*job), ""});
  } else {
    settle(item, {DeliveryState::kRefused, "",
                  *holder == kStoppedClaim ? "it was stopped before it had started" : "Slurm refused it before"});
  }
  return true;
}

// Those that may have reached Slurm and are there.
void SlurmSubmitter::settle_by_listing(std::vector<Item>& items, bool after_failure) {
  const auto asks = [&](const Item& item) {
    return !item.is_settled && (after_failure ? !item.complaint.empty() : item.is_repetition);
  };
  if (std::ranges::none_of(items, asks)) return;
  const auto listing = client_.jobs(true);
  listed_ = listing.status();
  std::map<std::string_view, std::int64_t> by_name;
  if (listing.ok())
    for (const SlurmJob& job : listing->jobs)
      if (!job.never_was()) by_name.emplace(job.name, job.id);
  for (Item& item : items) {
    if (!asks(item) || settle_by_claim(item)) continue;
    const auto job = by_name.find(print_key(options_.database, item.launch->key));
    if (job != by_name.end()) {
      (void)item.folder.note_submission({job->second, wall_clock_ms()});
      settle(item, {DeliveryState::kDone, std::to_string(job->second), ""});
    } else if (!listing.ok()) {
      settle(item, {DeliveryState::kUnknown, "", item.complaint.empty() ? listing.status().message() : item.complaint});
    }
  }
}

void SlurmSubmitter::submit(Item& item) const {
  std::vector<std::string> command = sbatch_command(*item.launch, item.components, options_);
  const auto said = client_.submit(command);
  if (!said.ok()) {
    item.complaint = said.status().message();
    return;
  }
  const auto id = read_integer(trim(std::string_view(said->output).substr(0, said->output.find_first_of(";\n"))));
  if (!said->ok() || !id.ok()) {
    item.complaint = said->complaint("sbatch");
    return;
  }
  failpoint("mid_delivery");
  const Status noted = item.folder.note_submission({*id, wall_clock_ms()});
  settle(item, {DeliveryState::kDone, std::to_string(*id), noted.message()});
}

void SlurmSubmitter::submit_all(std::vector<Item>& items) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_.value());
  std::atomic<bool> is_silent{false};  // Slurm does not answer: more questions would only wait as long
  std::vector<Item*> open;
  for (Item& item : items) {
    if (!item.is_settled) open.push_back(&item);
  }
  for_each_at_once(open.size(), static_cast<std::size_t>(parallel_), [&](std::size_t i) {
    Item& item = *open[i];
    if (is_silent || std::chrono::steady_clock::now() > deadline) {
      settle(item, {DeliveryState::kUnknown, "", is_silent ? "not tried: Slurm did not answer" : "not tried in time"});
      return;
    }
    submit(item);
    // Whatever else it says, it has answered: others are tried.
    if (!item.is_settled && is_slurm_silence(item.complaint)) is_silent = true;
  });
}

// A repetition only finds the claim taken, so nothing has to be asked first.
void SlurmSubmitter::start_in_pilots(std::vector<Item>& items) {
  SlurmPilots pilots(client_, options_);
  for (Item& item : items)
    if (!item.is_settled) settle(item, pilots.start(item.components, item.folder));
}

// sbatch failed and Slurm has no such job.
void SlurmSubmitter::give_up(Item& item) const {
  if (!is_sbatch_refusal(item.complaint)) {
    settle(item, {DeliveryState::kUnknown, "", item.complaint});
    return;
  }
  const auto holder = item.folder.take_claim(kRefusedClaim);
  if (!holder.ok()) {
    settle(item, {DeliveryState::kUnknown, "", holder.status().message()});
  } else if (*holder == kRefusedClaim) {
    settle(item, {DeliveryState::kRefused, "", item.complaint});
  } else {
    settle_by_claim(item);
  }
}

Result<std::vector<Delivery>> SlurmSubmitter::deliver(std::span<const Launch> launches) {
  std::vector<Item> items;
  items.reserve(launches.size());
  for (const Launch& launch : launches) items.push_back(prepare(launch));
  if (options_.is_pilot) {
    start_in_pilots(items);
  } else {
    settle_by_listing(items, false);
    if (listed_.ok()) submit_all(items);
    settle_by_listing(items, true);
  }
  std::vector<Delivery> deliveries;
  deliveries.reserve(items.size());
  for (Item& item : items) {
    if (!item.is_settled && listed_.ok()) give_up(item);
    if (!item.is_settled) settle(item, {DeliveryState::kUnknown, "", listed_.message()});
    deliveries.push_back(std::move(item.delivery));
  }
  const bool came_to_nothing = std::ranges::all_of(
      deliveries, [](const Delivery& delivery) { return delivery.state == DeliveryState::kUnknown; });
  if (!listed_.ok() && came_to_nothing) return listed_;
  return deliveries;
}

}  // namespace berth
