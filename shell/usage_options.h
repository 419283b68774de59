// The options that say what a run used: FINISH JOB ... WITH and RECORD USAGE ... WITH take the same ones.
#pragma once

#include "engine/policy/rightsizing.h"
#include "shell/arguments.h"

namespace berth {

inline constexpr OptionRow kUsageOptions[] = {
    {.name = "cpu_mean", .kind = "cpu", .default_value = "", .sentence = "CPU cores a task used in the mean."},
    {.name = "cpu_peak", .kind = "cpu", .default_value = "", .sentence = "The most CPU cores a task used at a time."},
    {.name = "memory_peak", .kind = "memory", .default_value = "", .sentence = "The most memory a task used."},
    {.name = "gpu_util",
     .kind = "gpu",
     .default_value = "",
     .minimum = "0",
     .maximum = "1",
     .sentence = "How busy each device was in the mean: 0.42 = 42 %."},
    {.name = "gpu_memory_peak",
     .kind = "memory",
     .default_value = "",
     .sentence = "The most memory a task used of each device."},
    {.name = "oom", .kind = "boolean", .default_value = "false", .sentence = "A task ran out of memory."},
};

inline UsageSample usage_from(const Options& options) {
  UsageSample usage;
  if (options.given("cpu_mean")) usage.cpu_mean = options.cpu("cpu_mean");
  if (options.given("cpu_peak")) usage.cpu_peak = options.cpu("cpu_peak");
  if (options.given("memory_peak")) usage.memory_peak = options.memory("memory_peak");
  if (options.given("gpu_util")) usage.gpu_mean = options.gpu("gpu_util");
  if (options.given("gpu_memory_peak")) usage.gpu_memory_peak = options.memory("gpu_memory_peak");
  usage.out_of_memory = options.boolean("oom");
  return usage;
}

inline bool is_empty(const UsageSample& usage) { return usage == UsageSample{}; }

}  // namespace berth
