#include "engine/exec/nvidia_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <pugixml.hpp>

#include "engine/base/text.h"

namespace berth {

namespace {

struct NvidiaGpu {
  std::string bus;      // "00000000:07:00.0"
  std::string product;  // as told
  std::string model;
  std::string uuid;
  MiB memory;
  bool is_mig = false;
  std::size_t instances = 0;        // of MIG
  std::vector<std::string> errors;  // what it reports of itself
};

std::string_view text_of(const pugi::xml_node& node) { return trim(node.text().get()); }

// "81920 MiB"; 0 for "N/A" and the like.
MiB read_mib(std::string_view text) {
  const std::size_t unit = text.find(" MiB");
  if (unit == std::string_view::npos) return MiB(0);
  const Result<std::int64_t> amount = read_integer(text.substr(0, unit));
  return amount.ok() ? MiB(*amount) : MiB(0);
}

bool is_count_above_zero(std::string_view text) {
  const Result<std::int64_t> count = read_integer(text);
  return count.ok() && *count > 0;
}

// The names changed with the architectures: Pascal and Volta count double bit errors, Ampere and later uncorrectable
// ones of SRAM (in later drivers by kind) and DRAM.
std::vector<std::string> reported_errors(const pugi::xml_node& gpu) {
  std::vector<std::string> errors;
  const pugi::xml_node counts = gpu.child("ecc_errors").child("volatile");
  bool has_errors = is_count_above_zero(text_of(counts.child("double_bit").child("total")));
  for (const char* name :
       {"sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable"})
    has_errors |= is_count_above_zero(text_of(counts.child(name)));
  if (has_errors) errors.emplace_back("uncorrectable memory errors since its last reset");
  if (equals_ignoring_case(text_of(gpu.child("remapped_rows").child("remapped_row_pending")), "Yes"))
    errors.emplace_back("memory rows wait for a reset to be remapped");
  if (equals_ignoring_case(text_of(gpu.child("remapped_rows").child("remapped_row_failure")), "Yes"))
    errors.emplace_back("memory rows could not be remapped");
  const pugi::xml_node retired = gpu.child("retired_pages");
  for (const char* name : {"pending_retirement", "pending_blacklist"}) {
    if (equals_ignoring_case(text_of(retired.child(name)), "Yes"))
      errors.emplace_back("memory pages wait for a restart to be retired");
  }
  return errors;
}

NvidiaGpu read_gpu_element(const pugi::xml_node& element) {
  NvidiaGpu gpu;
  gpu.bus = element.attribute("id").as_string();
  gpu.product = text_of(element.child("product_name"));
  gpu.uuid = text_of(element.child("uuid"));
  gpu.memory = read_mib(text_of(element.child("fb_memory_usage").child("total")));
  gpu.is_mig = equals_ignoring_case(text_of(element.child("mig_mode").child("current_mig")), "Enabled");
  for (const pugi::xml_node& instance : element.child("mig_devices").children("mig_device"))
    gpu.instances += instance ? 1 : 0;
  gpu.errors = reported_errors(element);
  // Whatever cannot be told stands there in brackets: "[Unknown Error]", "[GPU requires reset]".
  if (gpu.product.starts_with("[") || !gpu.uuid.starts_with("GPU-")) {
    gpu.errors.push_back(fmt::format("it does not answer: {}",
                                     gpu.product.starts_with("[") ? gpu.product : "no UUID '" + gpu.uuid + "'"));
  } else {
    gpu.model = short_model_name(gpu.product);
  }
  return gpu;
}

std::string main_model(const std::vector<NvidiaGpu>& gpus) {
  std::string best;
  std::ptrdiff_t most = 0;
  for (const NvidiaGpu& gpu : gpus) {
    const auto is_same = [&](const NvidiaGpu& other) { return !other.is_mig && other.model == gpu.model; };
    const std::ptrdiff_t count = gpu.model.empty() ? 0 : std::ranges::count_if(gpus, is_same);
    if (count > most) {
      most = count;
      best = gpu.model;
    }
  }
  return best;
}

bool tells_a_form(std::string_view word) {
  static constexpr std::array kForms = {"PCIE", "NVL", "GENERATION", "LAPTOP", "WITH"};
  const std::string upper = to_upper(word);
  const bool is_size = upper.size() > 2 && upper.ends_with("GB") && std::isdigit(static_cast<unsigned char>(upper[0]));
  return is_size || upper.starts_with("SXM") || upper.starts_with("HBM") ||
         std::ranges::find(kForms, upper) != kForms.end();
}

// What was said before the XML, by line.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    if (!trim(line).empty()) lines.emplace_back(trim(line));
  }
  return lines;
}

}  // namespace

std::string short_model_name(std::string_view product) {
  static constexpr std::array kBrands = {"NVIDIA", "TESLA", "GEFORCE", "QUADRO", "GRID"};
  std::string spaced(product);
  std::ranges::replace(spaced, '-', ' ');
  std::string name;
  for (const std::string_view word : split(spaced, ' ')) {
    const bool is_brand = std::ranges::find(kBrands, to_upper(word)) != kBrands.end();
    if (word.empty() || (name.empty() && is_brand)) continue;
    if (!name.empty() && tells_a_form(word)) break;
    for (const char c : word) {
      if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    }
  }
  return name;
}

Result<NvidiaDevices> read_nvidia_smi(std::string_view output) {
  const std::size_t begin = std::min(output.find("<?xml"), output.find("<nvidia_smi_log"));
  NvidiaDevices devices;
  devices.notes = lines_of(output.substr(0, begin));
  if (begin == std::string_view::npos) {
    if (devices.notes.size() == 1 && devices.notes[0].starts_with("No devices were found")) return NvidiaDevices{};
    return Status(Code::kUnavailable,
                  "nvidia-smi: " + (devices.notes.empty() ? "it said nothing" : devices.notes.front()));
  }
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(output.data() + begin, output.size() - begin);
  const pugi::xml_node log = document.child("nvidia_smi_log");
  if (!parsed || !log)
    return Status(Code::kUnavailable, fmt::format("nvidia-smi: its XML cannot be read at byte {}: {}",
                                                  static_cast<std::size_t>(parsed.offset) + begin,
                                                  parsed ? "no <nvidia_smi_log>" : parsed.description()));
  std::vector<NvidiaGpu> gpus;
  for (const pugi::xml_node& element : log.children("gpu")) gpus.push_back(read_gpu_element(element));
  const Result<std::int64_t> attached = read_integer(text_of(log.child("attached_gpus")));
  if (attached.ok() && *attached != static_cast<std::int64_t>(gpus.size()))
    devices.notes.push_back(fmt::format("{} GPUs are attached, {} are told of", *attached, gpus.size()));
  devices.model = main_model(gpus);
  for (const NvidiaGpu& gpu : gpus) {
    const std::string name = fmt::format("GPU {}", gpu.bus);
    for (const std::string& error : gpu.errors) devices.notes.push_back(fmt::format("{}: {}", name, error));
    if (gpu.model.empty()) {
      devices.notes.push_back(name + " left out");
    } else if (gpu.is_mig) {
      devices.notes.push_back(fmt::format("{} left out: MIG is on ({})", name,
                                          print_counted(static_cast<std::int64_t>(gpu.instances), "instance")));
    } else if (gpu.model != devices.model) {
      devices.notes.push_back(
          fmt::format("{} left out: {} beside devices of model {}", name, gpu.model, devices.model));
    } else {
      devices.memory = devices.uuids.empty() ? gpu.memory : std::min(devices.memory, gpu.memory);
      devices.uuids.push_back(gpu.uuid);
    }
  }
  if (devices.uuids.empty()) devices.model.clear();
  return devices;
}

}  // namespace berth
