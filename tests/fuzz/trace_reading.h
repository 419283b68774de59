// What the trace targets share: reading every good record of a file, whatever else is in it.
#pragma once

#include <vector>

#include "engine/model/cluster.h"
#include "engine/sim/trace.h"
#include "tests/fuzz/fuzz.h"

namespace berth::test {

// The good records; bad ones must come with a sentence. Reading strictly must agree: it succeeds if nothing is bad.
template <class Record, class Read>
std::vector<Record> read_leniently(Read read, std::string_view format, const MemoryFile& file) {
  const Result<ReadRecords<Record>> lenient = read(format, file.path(), ReadOptions{.skip_bad_rows = true});
  const Result<ReadRecords<Record>> strict = read(format, file.path(), ReadOptions{});
  if (!lenient.ok()) {
    promise(!strict.ok(), "what cannot be read leniently cannot be read strictly");
    promise(!lenient.status().message().empty(), "an error says what is wrong");
    return {};
  }
  for (const Status& skipped : lenient->skipped) promise(!skipped.message().empty(), "a skipped record says why");
  promise(strict.ok() == lenient->skipped.empty(), "a file without bad records is read strictly too");
  promise(!strict.ok() || strict->records == lenient->records, "reading twice gives the same");
  return lenient->records;
}

}  // namespace berth::test
