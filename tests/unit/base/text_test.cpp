#include "engine/base/text.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(ReadAmounts, GpuIsExactThousandths) {
  EXPECT_EQ(read_gpu("2")->value(), 2000);
  EXPECT_EQ(read_gpu("0.5")->value(), 500);
  EXPECT_EQ(read_gpu("0.001")->value(), 1);
  EXPECT_EQ(read_gpu("1/4")->value(), 250);
  EXPECT_EQ(read_gpu("500m")->value(), 500);
  for (const char* bad :
       {"", "x", "-1", "0.0005", "1/3", "1/0", "0.5 GPU", "1e3", ".", "99999999999999999999", "--2"}) {
    EXPECT_FALSE(read_gpu(bad).ok()) << bad;
  }
}

TEST(ReadAmounts, MemoryKnowsItsUnits) {
  EXPECT_EQ(read_memory("40GiB")->value(), 40960);
  EXPECT_EQ(read_memory("1.5 GiB")->value(), 1536);
  EXPECT_EQ(read_memory("512mib")->value(), 512);
  EXPECT_EQ(read_memory("2T")->value(), 2097152);
  EXPECT_EQ(read_memory("40Gi")->value(), 40960);
  EXPECT_EQ(read_memory("512Mi")->value(), 512);
  EXPECT_EQ(read_memory("1Ti")->value(), 1048576);
  EXPECT_EQ(read_memory("1024")->value(), 1024);
  for (const char* bad : {"GiB", "40XB", "0.0001MiB", "9999999999999TiB"}) EXPECT_FALSE(read_memory(bad).ok()) << bad;
}

TEST(ReadAmounts, DurationsAdd) {
  EXPECT_EQ(read_duration("90m")->value(), 5400);
  EXPECT_EQ(read_duration("1d12h")->value(), 129600);
  EXPECT_EQ(read_duration("2h 30m")->value(), 9000);
  EXPECT_EQ(read_duration("45")->value(), 45);
  EXPECT_EQ(read_duration("1.5h")->value(), 5400);
  for (const char* bad : {"", "h", "5 parsecs", "-5m"}) EXPECT_FALSE(read_duration(bad).ok()) << bad;
}

TEST(ReadAmounts, MomentsAreUtc) {
  EXPECT_EQ(read_time("1970-01-02")->value(), 86400);
  EXPECT_EQ(read_time("2026-12-01 08:00")->value(), 1796112000);
  EXPECT_EQ(read_time("2026-12-01T08:00:01Z")->value(), 1796112001);
  EXPECT_EQ(read_time("1796112000")->value(), 1796112000);
  EXPECT_EQ(print_time(Seconds(1796112001)), "2026-12-01 08:00:01");
  for (const char* bad : {"2026-13-01", "2026-02-30", "tomorrow", "2026-12-01 25:00", ""})
    EXPECT_FALSE(read_time(bad).ok()) << bad;
}

TEST(PrintAmounts, ReadBackToTheSame) {
  EXPECT_EQ(print_gpu(MilliGpu(1500)), "1.5");
  EXPECT_EQ(print_cpu(MilliCpu(96000)), "96");
  EXPECT_EQ(print_memory(MiB(40960)), "40GiB");
  EXPECT_EQ(print_duration(Seconds(93784)), "1d 2h");
  EXPECT_EQ(print_duration(Seconds(5400)), "1h 30m");
  EXPECT_EQ(print_count(-1234567), "-1,234,567");
  for (const std::int64_t mib : {0, 1, 512, 1024, 1536, 1537, 40960, 1048576, 1310720, 786432}) {
    EXPECT_EQ(read_memory(print_memory(MiB(mib)))->value(), mib) << print_memory(MiB(mib));
  }
  for (const std::int64_t milli : {0, 1, 10, 250, 999, 1000, 1001, 8000}) {
    EXPECT_EQ(read_gpu(print_gpu(MilliGpu(milli)))->value(), milli);
  }
}

TEST(Names, NearestIsALikelySlip) {
  const std::vector<std::string> names = {"train", "serve", "batch"};
  EXPECT_EQ(nearest_name("trian", names), "train");
  EXPECT_EQ(nearest_name("TRAIN", names), "train");
  EXPECT_EQ(nearest_name("xyzzy", names), "");
  EXPECT_EQ(nearest_name("5", {"k", "m"}), "");
  EXPECT_EQ(nearest_name("order", {"queue_order_policy", "order_policy", "backfill"}), "order_policy");
  EXPECT_EQ(nearest_name("5", {"k", "k5"}), "k5");
  EXPECT_EQ(nearest_name("K", {"k"}), "k");
  EXPECT_EQ(suggest("serv", names), "did you mean 'serve'?");
}

TEST(Names, RangesExpand) {
  EXPECT_EQ(*expand_range("n[8-11]"), (std::vector<std::string>{"n8", "n9", "n10", "n11"}));
  EXPECT_EQ(*expand_range("r[01-02]-n[1,3]"), (std::vector<std::string>{"r01-n1", "r01-n3", "r02-n1", "r02-n3"}));
  EXPECT_EQ(*expand_range("a,b[1-2]"), (std::vector<std::string>{"a", "b1", "b2"}));
  EXPECT_EQ(expand_range("train[001-064]")->size(), 64U);
  for (const char* bad : {"", "n[", "n[2-1]", "n[a-b]", "n]", "n[1-999999999]"})
    EXPECT_FALSE(expand_range(bad).ok()) << bad;
  std::string many = "n";
  for (int i = 0; i < 20000; ++i) many += "[1-2]";
  EXPECT_EQ(expand_range(many).status().message(), "more than 17 ranges in one name");
}

TEST(DeviceMasks, PrintAndRead) {
  EXPECT_EQ(print_device_mask(0b1011), "0-1,3");
  EXPECT_EQ(print_device_mask(0), "");
  EXPECT_EQ(*read_device_mask("0-3,5"), 0b101111U);
  EXPECT_EQ(*read_device_mask(""), 0U);
  for (const char* bad : {"a", "3-1", "64", "1,,2"}) EXPECT_FALSE(read_device_mask(bad).ok()) << bad;
}

}  // namespace
}  // namespace berth
