// Outputs in the published format of several driver versions, cut down to some elements beside those that are read.
#include "engine/exec/nvidia_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "engine/exec/local_devices.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;
using testing::ElementsAre;
using testing::IsEmpty;

std::string recorded(const std::string& name) {
  std::ifstream file("tests/unit/exec/nvidia_smi/" + name + ".xml");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

NvidiaDevices devices_of(const std::string& name) { return must(read_nvidia_smi(recorded(name))); }

TEST(NvidiaSmi, DevicesOfOneModel) {
  const NvidiaDevices a100 = devices_of("a100_mig_off");
  EXPECT_EQ(a100.model, "A100");
  EXPECT_EQ(a100.memory, MiB(81920));
  EXPECT_EQ(a100.uuids.size(), 4u);
  EXPECT_EQ(a100.uuids[1], "GPU-5a17c001-1f2e-3d4c-5b6a-000090ab0001");
  EXPECT_THAT(a100.notes, IsEmpty());

  const NvidiaDevices t4 = devices_of("t4");
  EXPECT_EQ(t4.model, "T4");
  EXPECT_EQ(t4.memory, MiB(15109));
  EXPECT_EQ(t4.uuids.size(), 1u);
  EXPECT_THAT(t4.notes, IsEmpty());

  const NvidiaDevices h100 = devices_of("h100");
  EXPECT_EQ(h100.model, "H100");
  EXPECT_EQ(h100.memory, MiB(81559));
  EXPECT_EQ(h100.uuids.size(), 8u);
  EXPECT_THAT(h100.notes, IsEmpty());
}

// One falls off the bus: the next job would be started on the device of another.
TEST(LocalDevices, KeepTheirNumbers) {
  LocalDevices devices;
  devices.renumber({"GPU-a", "GPU-b", "GPU-c"});
  EXPECT_EQ(devices.visible(0b110), "GPU-b,GPU-c");
  devices.renumber({"GPU-a", "GPU-c"});
  EXPECT_EQ(devices.count(), 3u);
  EXPECT_EQ(devices.gone(), DeviceMask{0b010});
  EXPECT_EQ(devices.visible(0b100), "GPU-c");
  EXPECT_THAT(devices.gone_words(), testing::ElementsAre("device 1 (GPU-b) is gone"));
  const auto missing = [&](DeviceMask mask) {
    Launch launch;
    launch.tasks.push_back({});
    launch.tasks.back().devices = mask;
    return devices.missing(launch).state;
  };
  EXPECT_EQ(missing(0b100), DeliveryState::kDone);
  EXPECT_EQ(missing(0b010), DeliveryState::kUnknown);
  EXPECT_EQ(missing(0b1000), DeliveryState::kUnknown);
  devices.renumber({"GPU-c", "GPU-b", "GPU-a"});
  EXPECT_EQ(devices.visible(0b111), "GPU-a,GPU-b,GPU-c") << "it is back, and the order is another";
  devices.renumber({"GPU-d", "GPU-a", "GPU-c", "GPU-e"});
  EXPECT_EQ(devices.visible(0b1111), "GPU-a,GPU-d,GPU-c,GPU-e") << "replaced, and one more";
  EXPECT_EQ(LocalDevices().visible(0b11), "0,1") << "where no names are known";
}

TEST(NvidiaSmi, AGpuInMigModeIsLeftOut) {
  const NvidiaDevices devices = devices_of("a100_mig_on");
  EXPECT_EQ(devices.model, "A100");
  EXPECT_THAT(devices.uuids,
              ElementsAre("GPU-5a17c000-1f2e-3d4c-5b6a-000090ab0000", "GPU-5a17c002-1f2e-3d4c-5b6a-000090ab0002"));
  EXPECT_THAT(devices.notes, ElementsAre("GPU 00000000:0F:00.0 left out: MIG is on (3 instances)"));
}

TEST(NvidiaSmi, OfTwoModelsTheMoreFrequentCountsWithTheLeastMemory) {
  const NvidiaDevices devices = devices_of("two_models");
  EXPECT_EQ(devices.model, "V100");
  EXPECT_EQ(devices.memory, MiB(16160));
  EXPECT_EQ(devices.uuids.size(), 2u);
  EXPECT_THAT(devices.notes, ElementsAre("GPU 00000000:3B:00.0 left out: T4 beside devices of model V100"));
}

TEST(NvidiaSmi, ErrorsAreToldAndTheDeviceKeepsItsNumber) {
  const NvidiaDevices devices = devices_of("memory_errors");
  EXPECT_EQ(devices.uuids.size(), 3u);
  EXPECT_THAT(devices.notes, ElementsAre("GPU 00000000:07:00.0: uncorrectable memory errors since its last reset",
                                         "GPU 00000000:07:00.0: memory rows wait for a reset to be remapped",
                                         "GPU 00000000:47:00.0: memory rows could not be remapped"));
}

TEST(NvidiaSmi, ADeviceThatDoesNotAnswerIsLeftOut) {
  const NvidiaDevices devices = devices_of("lost_device");
  EXPECT_THAT(devices.uuids, ElementsAre("GPU-5a17c000-1f2e-3d4c-5b6a-000090ab0000"));
  EXPECT_THAT(devices.notes, ElementsAre("Unable to determine the device handle for GPU0000:4E:00.0: Unknown Error",
                                         "3 GPUs are attached, 2 are told of",
                                         "GPU 00000000:0F:00.0: it does not answer: [Unknown Error]",
                                         "GPU 00000000:0F:00.0 left out"));
}

TEST(NvidiaSmi, OutputsWithoutDevices) {
  const NvidiaDevices none = must(read_nvidia_smi("No devices were found\n"));
  EXPECT_EQ(none.model, "");
  EXPECT_THAT(none.uuids, IsEmpty());
  const Status lost = read_nvidia_smi(
                          "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  "
                          "Reboot the system to recover this GPU\n")
                          .status();
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_EQ(lost.message(),
            "nvidia-smi: Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system "
            "to recover this GPU");
  EXPECT_FALSE(read_nvidia_smi("").ok());
  EXPECT_FALSE(read_nvidia_smi("<?xml version=\"1.0\" ?><html></html>").ok());
}

// Whatever arrives is read or refused.
TEST(NvidiaSmi, HalfAnOutputIsRefused) {
  const std::string whole = recorded("two_models");
  const std::size_t end = whole.find("</nvidia_smi_log>");
  for (std::size_t size = 0; size < end; size += 97) EXPECT_FALSE(read_nvidia_smi(whole.substr(0, size)).ok()) << size;
}

TEST(NvidiaSmi, ShortModelNames) {
  const std::vector<std::pair<std::string, std::string>> names = {{"NVIDIA A100-SXM4-80GB", "A100"},
                                                                  {"A100-SXM4-40GB", "A100"},
                                                                  {"NVIDIA A100 80GB PCIe", "A100"},
                                                                  {"NVIDIA A10G", "A10G"},
                                                                  {"NVIDIA H100 80GB HBM3", "H100"},
                                                                  {"NVIDIA H100 PCIe", "H100"},
                                                                  {"NVIDIA H100 NVL", "H100"},
                                                                  {"NVIDIA H200", "H200"},
                                                                  {"NVIDIA GH200 480GB", "GH200"},
                                                                  {"NVIDIA L40S", "L40S"},
                                                                  {"Tesla T4", "T4"},
                                                                  {"Tesla P100-PCIE-16GB", "P100"},
                                                                  {"Tesla V100-SXM2-32GB-LS", "V100"},
                                                                  {"NVIDIA GeForce RTX 3090 Ti", "RTX3090Ti"},
                                                                  {"NVIDIA GeForce RTX 4070 Laptop GPU", "RTX4070"},
                                                                  {"Quadro RTX 8000", "RTX8000"},
                                                                  {"NVIDIA RTX A6000", "RTXA6000"},
                                                                  {"NVIDIA RTX 6000 Ada Generation", "RTX6000Ada"},
                                                                  {"NVIDIA TITAN V", "TITANV"},
                                                                  {"", ""}};
  for (const auto& [product, model] : names) EXPECT_EQ(short_model_name(product), model) << product;
}

}  // namespace
}  // namespace berth
