// Records of rounds, damaged: decoding gives an error or a value that encodes to the same bytes.
#include "engine/model/record_codec.h"
#include "tests/builders.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/patches.h"

using berth::test::promise;

namespace {

berth::EncodedRecord sound_snapshot() {
  berth::Snapshot snapshot = berth::test::snapshot_from("3x8:H100 rack=a links=[0 1 2 3][4 5 6 7]; 2x4:A100 bad=1",
                                                        {"gpus=2 tasks=8 min=4 locality=rack", "gpus=0.5"});
  snapshot.queues.push_back({.id = 3, .name = "ads", .weight = 0.1});
  snapshot.quotas.resources.push_back({.name = "H100", .models = 1});
  snapshot.allocations.emplace_back().job = 9;
  snapshot.running.emplace_back().job.id = 9;
  snapshot.reservations.emplace_back().tasks.emplace_back().node_id = 2;
  return berth::encode_snapshot(snapshot);
}

berth::EncodedRecord sound_plan() {
  berth::Plan plan;
  plan.order_policy = "fifo";
  plan.placements.emplace_back().node = 1;
  plan.evictions.emplace_back().tasks = {{0, 1}};
  plan.waiting.push_back({.job = 4, .reason = berth::Reason::kQuota, .resource = "A100", .short_by = 5});
  return berth::encode_plan(plan);
}

// The first byte says which part is damaged: 0 the head.
berth::EncodedRecord damaged(berth::EncodedRecord record, std::string_view changes) {
  const std::size_t which = static_cast<unsigned char>(changes.front()) % (record.parts.size() + 1);
  std::string& bytes = which == 0 ? record.head : record.parts[which - 1];
  bytes = berth::test::patched(bytes, changes.substr(1));
  return record;
}

template <class Value, class Decode, class Encode>
void look_at(const berth::EncodedRecord& record, Decode decode, Encode encode) {
  const berth::Result<Value> value = decode(record.head, record.parts);
  if (!value.ok()) return promise(value.status().code() == berth::Code::kCorrupt, "damage is corruption");
  const berth::EncodedRecord again = encode(*value);
  const berth::Result<Value> back = decode(again.head, again.parts);
  promise(back.ok(), "what was decoded can be encoded");
  const berth::EncodedRecord last = encode(*back);
  promise(last.head == again.head && last.parts == again.parts, "equal values have equal bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view changes = berth::test::as_text(data, size);
  if (changes.empty()) return 0;
  static const berth::EncodedRecord snapshot = sound_snapshot();
  static const berth::EncodedRecord plan = sound_plan();
  look_at<berth::Snapshot>(damaged(snapshot, changes), berth::decode_snapshot, berth::encode_snapshot);
  look_at<berth::Plan>(damaged(plan, changes), berth::decode_plan, berth::encode_plan);
  return 0;
}
