// Nodes of clusters that are divided into virtual clusters: a name and a number of equal nodes a row.
//
// The nodes of a virtual cluster form a pool of its name: "6214e9-001" is the first of pool 6214e9. They have
// node_devices devices of a model called GPU (TraceOptions), 8 cores and 64 GiB of memory for each.
#pragma once

#include "engine/sim/csv.h"
#include "engine/sim/trace.h"

namespace berth {

// `columns`: the name's and the count's. They must outlive the reader.
Result<std::unique_ptr<NodeReader>> open_virtual_clusters(const std::string& path, std::span<const CsvColumn> columns,
                                                          const TraceOptions& options);

}  // namespace berth
