#include "shell/trace_options.h"

#include <fmt/format.h>

#include "engine/base/text.h"

namespace berth {

namespace {

std::string format_hint(const std::string& hint, const std::vector<std::string_view>& formats) {
  std::vector<std::string> names;
  for (const std::string_view name : formats) names.push_back(fmt::format("FORMAT {}", name));
  return fmt::format("{}{}it reads as {}", hint, hint.empty() ? "" : "; ", join(names, " or "));
}

}  // namespace

TraceOptions job_file_options(const Options& options) {
  TraceOptions trace;
  trace.node_devices = options.integer("node_devices");
  trace.devices_per_task = options.integer("devices_per_task");
  trace.processors_are_gpus = options.boolean("processors_are_gpus");
  trace.estimates_file = options.text_or("estimates_file", "");
  trace.tasks_file = options.text_or("tasks_file", "");
  trace.tags_file = options.text_or("tags_file", "");
  trace.throughputs_file = options.text_or("throughputs_file", "");
  trace.throughput_model = options.text_or("throughput_model", "");
  return trace;
}

Status hint_format(Status status, const Arguments& arguments, std::string_view argument, TraceContent content) {
  const std::string path = arguments.text_or(argument, "");
  if (status.subject().field != "columns" || status.subject().value != path) return status;
  const std::vector<std::string_view> formats = recognise_trace(path, content);
  if (formats.empty()) return status;
  return Status(status.code(), status.message(), format_hint(status.hint(), formats)).about("columns", path);
}

}  // namespace berth
