// Lines of plain and gzip files: damaged ones end in an error, never in a crash, and lines keep their bounds.
#include "engine/sim/text_file.h"

#include "tests/fuzz/fuzz.h"

using berth::test::promise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const berth::test::MemoryFile bytes(berth::test::as_text(data, size));
  berth::Result<berth::TextFile> file = berth::TextFile::open(bytes.path());
  promise(file.ok(), "a file that is there can be opened");
  std::string_view line;
  for (std::int64_t number = 1;; ++number) {
    const berth::Result<bool> more = file->next(line);
    if (!more.ok()) {
      promise(more.status().code() == berth::Code::kCorrupt || more.status().code() == berth::Code::kUnavailable,
              "a damaged file is corrupt", more.status().message());
      return 0;
    }
    if (!*more) return 0;
    promise(line.size() <= berth::TextFile::kMaxLine && line.find('\n') == std::string_view::npos, "a line is a line");
    promise(file->line() == number, "lines are counted");
  }
}
