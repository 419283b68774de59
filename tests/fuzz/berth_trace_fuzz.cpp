// Readers and writers of Berth's own CSV: what was read and is written reads back equal.
#include "engine/sim/berth_trace.h"

#include "tests/fuzz/trace_reading.h"

namespace {

using berth::test::MemoryFile;
using berth::test::promise;
using berth::test::read_leniently;

// Where a record stood is the one thing that may differ.
template <class Record>
void forget_places(std::vector<Record>& records) {
  for (Record& record : records) record.place.clear();
}

template <class Record, class Read, class Write>
void read_write_read(const MemoryFile& file, Read read, Write write) {
  std::vector<Record> records = read_leniently<Record>(read, "berth", file);
  if (records.empty()) return;
  const std::string text = write(records);
  const MemoryFile written(text);
  const berth::Result<berth::ReadRecords<Record>> again = read("berth", written.path(), berth::ReadOptions{});
  promise(again.ok(), again.ok() ? "" : again.status().message(), text);
  std::vector<Record> back = again->records;
  forget_places(records);
  forget_places(back);
  promise(back == records, "what is written reads back equal", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(berth::test::as_text(data, size));
  read_write_read<berth::TraceNode>(file, berth::read_trace_nodes, berth::berth_nodes_csv);
  read_write_read<berth::TraceJob>(file, berth::read_trace_jobs, berth::berth_jobs_csv);
  return 0;
}
