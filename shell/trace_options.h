// The options that say what a file of nodes or jobs does not say of itself: IMPORT and SIMULATE take the same ones.
#pragma once

#include "engine/sim/trace.h"
#include "shell/arguments.h"

namespace berth {

inline constexpr OptionRow kNodeFileOptions[] = {
    {.name = "node_devices",
     .kind = "integer",
     .default_value = "8",
     .minimum = "1",
     .maximum = "32",
     .sentence = "Devices of a node, where the format does not say (philly, helios, gavel)."},
};
// For files of jobs, beside those for nodes.
inline constexpr OptionRow kJobFileOptions[] = {
    {.name = "devices_per_task",
     .kind = "integer",
     .default_value = "1",
     .minimum = "1",
     .maximum = "32",
     .sentence = "Devices of each task of a gang, where the format only counts devices (philly, gavel)."},
    {.name = "processors_are_gpus",
     .kind = "boolean",
     .default_value = "false",
     .sentence = "swf: a processor is a GPU, not a core."},
    {.name = "estimates_file",
     .kind = "file",
     .default_value = "",
     .sentence = "helios: how long each job was thought to run, the estimate 'given'."},
    {.name = "tasks_file",
     .kind = "file",
     .default_value = "",
     .sentence = "pai2020: the task table; else beside the job table."},
    {.name = "tags_file",
     .kind = "file",
     .default_value = "",
     .sentence = "pai2020: the group tag table; else beside the job table, if there."},
    {.name = "throughputs_file",
     .kind = "file",
     .default_value = "",
     .sentence = "gavel: steps per second by device model, without which durations are not known."},
    {.name = "throughput_model",
     .kind = "text",
     .default_value = "v100",
     .sentence = "gavel: the device model that durations are for."},
};

// Of a statement with both tables.
TraceOptions job_file_options(const Options& options);

// Where the columns of the file that `argument` names are not those of the format, the hint says which format has them.
Status hint_format(Status status, const Arguments& arguments, std::string_view argument, TraceContent content);

}  // namespace berth
