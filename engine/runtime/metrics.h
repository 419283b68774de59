// Berth's own state in Prometheus' text format, for node_exporter's textfile collector: EXPORT METRICS.
#pragma once

#include <string>

#include "engine/runtime/runtime.h"

namespace berth {

// Gauges of nodes, devices, jobs, queues, executors and the last rounds; names begin with "berth_".
Result<std::string> metrics_text(Runtime& runtime);

}  // namespace berth
