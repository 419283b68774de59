// Saved databases, damaged: loading one refuses it and keeps what is there, or takes it and keeps every promise.
#include <fstream>
#include <iterator>
#include <optional>

#include "engine/store/change.h"
#include "engine/store/check.h"
#include "engine/store/cluster_records.h"
#include "engine/store/open.h"
#include "engine/store/queue_records.h"
#include "engine/store/snapshot_file.h"
#include "tests/builders.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/patches.h"

using berth::test::must;
using berth::test::promise;

namespace {

constexpr berth::Seconds kNow{1700000000};

class Files {
 public:
  Files() {
    berth::Database db = must(berth::open_state(path("sound.db")));
    berth::Change change = must(berth::Change::begin(db, "fuzz", kNow));
    promise(
        berth::add_pool(change, "train").ok() && berth::add_queue(change, {.name = "ads"}).ok() &&
            berth::add_node_type(change, {.name = "plain", .cpu = berth::MilliCpu(8000), .memory = berth::MiB(1024)})
                .ok() &&
            change.commit().ok(),
        "a small cluster can be made");
    promise(berth::save_snapshot(db, path("saved.db")).ok(), "it can be saved");
    std::ifstream file(path("saved.db"), std::ios::binary);
    saved_.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }

  std::string path(const std::string& name) const { return folder_.path(name); }
  const std::string& saved() const { return saved_; }

 private:
  berth::test::FuzzFolder folder_;
  std::string saved_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Files files;
  const std::string damaged = berth::test::patched(files.saved(), berth::test::as_text(data, size));
  std::ofstream(files.path("damaged.db"), std::ios::binary | std::ios::trunc) << damaged;
  berth::Database db = must(berth::open_state(":memory:"));
  const std::int64_t before = must(berth::state_version(db));
  const berth::Result<std::int64_t> loaded = berth::load_snapshot(db, files.path("damaged.db"), "fuzz", kNow);
  if (!loaded.ok()) {
    promise(!loaded.status().message().empty(), "an error says what is wrong");
    promise(must(berth::state_version(db)) == before, "what is refused changes nothing");
  }
  const auto findings = berth::check_state(db);
  promise(findings.ok() && findings->empty(), "every promise is kept",
          findings.ok() && !findings->empty() ? findings->front().sentence : "");
  return 0;
}
