#include "engine/model/record_codec.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/model/archive.h"
#include "tests/builders.h"

namespace berth {
namespace {

std::string all(const EncodedRecord& record) {
  std::string bytes = record.head;
  for (const std::string& part : record.parts) bytes += part;
  return bytes;
}

Snapshot busy_snapshot() {
  Snapshot snapshot = test::snapshot_from("200x8:H100 rack=a links=[0 1 2 3][4 5 6 7]; 30x4:A100 bad=1",
                                          {"gpus=2 tasks=8 min=4 locality=rack", "gpus=0.5", "cpu=4 / gpus=8 tasks=2"});
  snapshot.version = 12;
  snapshot.now = Seconds(1700000000);
  snapshot.seed = ~std::uint64_t{0};
  snapshot.queues.push_back({.id = 3, .name = "ads", .weight = 0.1, .decayed_usage = 1e15 / 3});
  snapshot.quotas.resources.push_back({.name = "H100", .models = 1});
  snapshot.quotas.terms.push_back({QuotaTerms{.has_quota = true, .quota = 8000, .lend_limit = 0}});
  LoanTerms& loan = snapshot.quotas.loans.emplace_back();
  loan.amount = 4000;
  loan.until = Seconds(1800000000);
  for (std::int32_t i = 0; i < 300; ++i) {
    Allocation& allocation = snapshot.allocations.emplace_back();
    allocation.job = 1000 + i;
    allocation.node = i / 2;
    allocation.gpu_milli = MilliGpu(i);
    RunningJob running;
    running.job.id = 1000 + i;
    running.job.estimate.p90 = Seconds(i);
    running.job.eviction.evicted_for = {i, -i};
    running.job.gpu_utilisation_pct = 0.1 * i;
    running.stop_at = Seconds(i % 3 - 1);
    snapshot.running.push_back(running);
  }
  snapshot.reservations.emplace_back().tasks.emplace_back().node_id = 5;
  snapshot.refused = {{2, 7, Seconds(1699999000)}};
  snapshot.workload.push_back({snapshot.jobs[0].groups[0].shape, 1.0 / 3});
  return snapshot;
}

TEST(RecordCodecTest, ASnapshotComesBackTheSame) {
  const EncodedRecord record = encode_snapshot(busy_snapshot());
  const Snapshot back = test::must(decode_snapshot(record.head, record.parts));
  EXPECT_EQ(all(encode_snapshot(back)), all(record));
  EXPECT_EQ(back.allocations, busy_snapshot().allocations);
  EXPECT_EQ(back.quotas, busy_snapshot().quotas);
  EXPECT_EQ(back.cluster.node_names, busy_snapshot().cluster.node_names);
  EXPECT_EQ(back.running[299].job.eviction, busy_snapshot().running[299].job.eviction);
  EXPECT_EQ(back.running[299].job.gpu_utilisation_pct, busy_snapshot().running[299].job.gpu_utilisation_pct);
  EXPECT_EQ(back.running[299].stop_at, Seconds(1));
  EXPECT_EQ(back.refused, busy_snapshot().refused);
}

// Records of the format before knew no refusals: they are those of a snapshot without one.
TEST(RecordCodecTest, WithoutRefusalsARecordIsAsItWas) {
  Snapshot snapshot = busy_snapshot();
  const EncodedRecord with = encode_snapshot(snapshot);
  snapshot.refused.clear();
  const EncodedRecord without = encode_snapshot(snapshot);
  EXPECT_EQ(without.head, with.head);
  EXPECT_EQ(without.parts.size() + 1, with.parts.size());
  EXPECT_TRUE(std::equal(without.parts.begin(), without.parts.end(), with.parts.begin()));
}

TEST(RecordCodecTest, JobsThatAreToldToEndComeBackSo) {
  Snapshot snapshot = busy_snapshot();
  const std::size_t parts = encode_snapshot(snapshot).parts.size();
  snapshot.running[3].ends_by = Seconds(7);
  const EncodedRecord told = encode_snapshot(snapshot);
  EXPECT_EQ(told.parts.size(), parts + 1) << "records without any are as those of the format before";
  const Snapshot back = test::must(decode_snapshot(told.head, told.parts));
  EXPECT_EQ(back.running[3].ends_by, Seconds(7));
  EXPECT_FALSE(back.running[2].is_told_to_end());
}

TEST(RecordCodecTest, APlanComesBackTheSame) {
  Plan plan;
  plan.version = 7;
  plan.order_policy = "fifo";
  Eviction& eviction = plan.evictions.emplace_back();
  eviction.job = 4;
  eviction.tasks = {{0, 1}};
  eviction.lost = 17;
  plan.reprieves = {8, 5};
  Placement& placement = plan.placements.emplace_back();
  placement.node = -1;
  placement.devices = 0b11;
  placement.memory = MiB(1) * (std::int64_t{1} << 40);
  for (std::int64_t i = 0; i < 3000; ++i)
    plan.waiting.push_back({.job = (i * 7919) % 3001, .reason = Reason::kQuota, .resource = "A100", .short_by = -i});
  plan.marks = {{1, 0x10001}};
  plan.outlook = {{3, "H100", 8000, Seconds(-1)}};
  const EncodedRecord record = encode_plan(plan);
  EXPECT_GT(record.parts.size(), 10u);
  EXPECT_EQ(test::must(decode_plan(record.head, record.parts)), plan);
}

// What makes the history small: one change leaves the parts of everything else as they are.
TEST(RecordCodecTest, AChangeChangesFewParts) {
  const Snapshot before = busy_snapshot();
  Snapshot after = before;
  after.now += Seconds(10);
  after.allocations.erase(after.allocations.begin() + 5);
  after.running.erase(after.running.begin() + 5);
  const std::vector<std::string> old_parts = encode_snapshot(before).parts;
  std::size_t fresh = 0;
  for (const std::string& part : encode_snapshot(after).parts)
    fresh += std::ranges::find(old_parts, part) == old_parts.end() ? 1 : 0;
  EXPECT_EQ(fresh, 2u);
}

TEST(RecordCodecTest, DamagedBytesAreRefused) {
  const EncodedRecord record = encode_snapshot(busy_snapshot());
  for (std::size_t i = 0; i < record.parts.size(); ++i) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, record.parts[i].size() - 1}) {
      EncodedRecord cut = record;
      cut.parts[i].resize(size);
      const Result<Snapshot> back = decode_snapshot(cut.head, cut.parts);
      EXPECT_EQ(back.status().code(), Code::kCorrupt) << "part " << i << " of " << size << " bytes";
    }
    EncodedRecord more = record;
    more.parts[i] += '\0';
    EXPECT_EQ(decode_snapshot(more.head, more.parts).status().code(), Code::kCorrupt) << "part " << i;
  }
  EXPECT_EQ(decode_snapshot(record.head + "x", record.parts).status().code(), Code::kCorrupt);
  EXPECT_EQ(decode_plan(encode_plan({}).head, record.parts).status().code(), Code::kCorrupt);
}

TEST(ArchiveTest, IntegersOfEverySize) {
  const std::vector<std::int64_t> numbers = {0, 1, -1, 63, -64, 64, INT64_MAX, INT64_MIN};
  ByteWriter writer;
  writer(numbers, ~std::uint64_t{0}, 0.1, std::string("a\0b", 3), true);
  std::vector<std::int64_t> back;
  std::uint64_t most = 0;
  double real = 0;
  std::string text;
  bool truth = false;
  ByteReader reader(writer.bytes());
  reader(back, most, real, text, truth);
  EXPECT_TRUE(reader.ok() && reader.at_end());
  EXPECT_EQ(back, numbers);
  EXPECT_EQ(most, ~std::uint64_t{0});
  EXPECT_EQ(real, 0.1);
  EXPECT_EQ(text, std::string("a\0b", 3));
  EXPECT_TRUE(truth);
}

TEST(ArchiveTest, ValuesTooLargeForTheirTypeAreRefused) {
  ByteWriter writer;
  writer(std::int64_t{1} << 40);
  std::int32_t narrow = 0;
  ByteReader reader(writer.bytes());
  reader(narrow);
  EXPECT_FALSE(reader.ok());
  std::vector<std::string> list;
  ByteReader short_one("\xFF\xFF\xFF\x7F");
  short_one(list);
  EXPECT_FALSE(short_one.ok());
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace berth
