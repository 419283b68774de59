#include "engine/exec/local_devices.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "engine/base/private_folder.h"
#include "engine/base/text.h"
#include "engine/exec/local_limits.h"
#include "engine/exec/local_record.h"
#include "engine/exec/plain_file.h"

namespace berth {

namespace {

constexpr char kGoneMark = '-';

bool is_marked_gone(const std::string& name) { return name.starts_with(kGoneMark); }
std::string uuid_of(const std::string& name) { return is_marked_gone(name) ? name.substr(1) : name; }
std::string file_in(const std::string& folder) { return folder + "/devices"; }

}  // namespace

LocalDevices LocalDevices::read(const std::string& folder) {
  LocalDevices devices;
  const std::string text = read_small_file(file_in(folder)).value_or("");
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) devices.names_.emplace_back(line);
  }
  return devices;
}

Status LocalDevices::write(const std::string& folder) const {
  const std::string path = file_in(folder);
  const std::string draft = fmt::format("{}.{}", path, getpid());
  const std::string text = join(names_, "\n");
  if (!make_folders(folder)) return file_error(folder);
  BERTH_ASSIGN(const Descriptor file, open_plain_file(draft, O_WRONLY | O_CREAT | O_TRUNC));
  const bool is_written = ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return is_written && rename(draft.c_str(), path.c_str()) == 0 ? Status() : file_error(path);
}

void LocalDevices::renumber(const std::vector<std::string>& present) {
  for (std::string& name : names_) {
    std::string uuid = uuid_of(name);
    name = std::ranges::find(present, uuid) != present.end() ? std::move(uuid) : kGoneMark + uuid;
  }
  for (const std::string& uuid : present) {
    if (std::ranges::find(names_, uuid) != names_.end()) continue;
    if (const auto hole = std::ranges::find_if(names_, is_marked_gone); hole != names_.end()) {
      *hole = uuid;
    } else {
      names_.push_back(uuid);
    }
  }
}

DeviceMask LocalDevices::gone() const {
  DeviceMask mask = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(names_.size(), kMaxDevices); ++i) {
    if (is_marked_gone(names_[i])) mask |= DeviceMask{1} << i;
  }
  return mask;
}

std::vector<std::string> LocalDevices::gone_words() const {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (is_marked_gone(names_[i])) words.push_back(fmt::format("device {} ({}) is gone", i, uuid_of(names_[i])));
  }
  return words;
}

std::string LocalDevices::visible(DeviceMask devices) const {
  std::vector<std::string> names;
  for (; devices != 0; devices &= devices - 1) {
    const auto device = static_cast<std::size_t>(std::countr_zero(devices));
    names.push_back(device < names_.size() ? uuid_of(names_[device]) : std::to_string(device));
  }
  return join(names, ",");
}

Delivery LocalDevices::missing(const Launch& launch) const {
  const DeviceMask all_gone = gone();
  for (const LaunchTask& task : launch.tasks) {
    for (DeviceMask mask = task.devices; mask != 0 && !names_.empty(); mask &= mask - 1) {
      const auto device = static_cast<std::size_t>(std::countr_zero(mask));
      if (device < names_.size() && ((all_gone >> device) & 1) == 0) continue;
      return {DeliveryState::kUnknown, "", fmt::format("device {} is not there", device)};
    }
  }
  return {};
}

}  // namespace berth
