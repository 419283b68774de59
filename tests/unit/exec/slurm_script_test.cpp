#include "engine/exec/slurm_script.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/exec/process.h"
#include "engine/exec/slurm_records.h"
#include "tests/builders.h"

namespace berth {
namespace {

using test::must;

Launch launch_on(const std::vector<std::pair<std::string, DeviceMask>>& places, std::int64_t gpu_milli = 1000) {
  Launch launch;
  launch.key = {12, 1, 0};
  launch.command = "true";
  std::int32_t rank = 0;
  for (const auto& [node, devices] : places) {
    launch.tasks.push_back({0, rank, rank, node, devices, MilliGpu(gpu_milli), MiB(0), MilliCpu(1500), MiB(1000)});
    ++rank;
  }
  return launch;
}

TEST(SlurmScript, EqualNodesAreAPlainJobOthersAHeterogeneousOne) {
  SlurmSubmitOptions options;
  options.database = "abc123";
  options.shared_folder = "/sh%j";
  options.partition = "gpu";
  Launch launch = launch_on({{"n2", 0b11}, {"n1", 0b1100}});
  launch.time_limit = Seconds(90);
  auto components = must(slurm_components(launch, 0));
  ASSERT_EQ(components.size(), 1u);
  EXPECT_EQ(join(sbatch_command(launch, components, options), " "),
            "sbatch --parsable --export=ALL --job-name=berth-abc123-12-1-l0 "
            "--comment={\"database\":\"abc123\",\"job\":12,\"attempt\":1,\"sequence\":0,"
            "\"launch\":\"berth-abc123-12-1-l0\"} "
            "--open-mode=append --output=/sh%%j/berth-abc123-12-1-l0/slurm.out "
            "--chdir=/sh%j/berth-abc123-12-1-l0 --partition=gpu --time=3 --no-requeue --nodelist=n2,n1 --nodes=2 "
            "--ntasks-per-node=1 --cpus-per-task=2 --mem=1000 --gres=gpu:2 /sh%j/berth-abc123-12-1-l0/script");
  launch = launch_on({{"n1", 0b1}, {"n2", 0b11}, {"n2", 0b100}, {"n3", 0b1}, {"n4", 0}});
  components = must(slurm_components(launch, 0));
  ASSERT_EQ(components.size(), 3u);
  EXPECT_EQ(components[0].nodes, (std::vector<std::string>{"n1", "n3"}));
  EXPECT_EQ(components[1].need, (SlurmNodeNeed{3, 2000, 3, 0}));
  EXPECT_EQ(components[2].need, (SlurmNodeNeed{2, 1000, 0, 0}));
  const std::string script = slurm_script(launch, components, options);
  EXPECT_NE(script.find("watch 0 1 1 1.5 1000 1000 0 1,2 &"), std::string::npos) << script;
  EXPECT_NE(script.find("watch 0 2 2 1.5 1000 1000 0 3 &"), std::string::npos);
  EXPECT_NE(script.find("watch 0 4 4 1.5 1000 0 0 none &"), std::string::npos);
}

// The script as a node runs it, without any Slurm.
TEST(SlurmScript, TheVariablesOfAJobAreItsCommandsAlone) {
  std::string folder = (std::filesystem::temp_directory_path() / "berth-script-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  SlurmSubmitOptions options;
  options.database = "abc123";
  options.shared_folder = folder;
  Launch launch = launch_on({{"n1", 0}});
  launch.environment = {{"PATH", "/nowhere"}, {"FOLDER", "it's mine"}, {"COMMAND", "false"}, {"UID", "7"}};
  launch.command = "echo \"$PATH|$FOLDER|$COMMAND|$UID|${PWD##*/}\"";
  const std::string own = slurm_launch_folder(options, launch.key);
  const SlurmLaunchFolder records(own);
  ASSERT_TRUE(must(records.make()));
  ASSERT_TRUE(records.write_launch(launch, slurm_script(launch, must(slurm_components(launch, 0)), options)).ok());
  const ProcessOutput said =
      must(run_process({.command = {"bash", own + "/script", "node"}, .environment = {{"SLURMD_NODENAME", "n1"}}}));
  EXPECT_TRUE(said.ok()) << said.error;
  std::string output;
  std::getline(std::ifstream(own + "/0-0.out") >> std::ws, output);
  EXPECT_EQ(output, "/nowhere|it's mine|false|7|work");
  std::filesystem::remove_all(folder);
}

TEST(SlurmScript, SharesOfDevices) {
  // Two halves of one job fill the device; one half alone needs shards.
  EXPECT_EQ(must(slurm_components(launch_on({{"n1", 1}, {"n1", 1}}, 500), 0)).front().need.gpus, 1);
  EXPECT_EQ(slurm_components(launch_on({{"n1", 1}}, 500), 0).status().code(), Code::kInvalid);
  const SlurmNodeNeed need = must(slurm_components(launch_on({{"n1", 1}}, 250), 10)).front().need;
  EXPECT_EQ(need.gpus, 0);
  EXPECT_EQ(need.shards, 3);
  EXPECT_FALSE(slurm_components(launch_on({{"n1", 0b11}}, 250), 10).ok());
}

TEST(SlurmScript, ARefusalIsToldFromSilence) {
  for (const char* no :
       {"Memory specification can not be satisfied", "CPU count per node can not be satisfied",
        "More processors requested than permitted", "Requested time limit is invalid (missing or exceeds some limit)"})
    EXPECT_TRUE(is_sbatch_refusal("sbatch: error: Batch job submission failed: " + std::string(no))) << no;
  for (const char* silence :
       {"Socket timed out on send/recv operation", "Unable to contact slurm controller (connect failure)",
        "Zero Bytes were transmitted or received", "Unexpected message received",
        "Slurm temporarily unable to accept job, sleeping and retrying"})
    EXPECT_FALSE(is_sbatch_refusal("sbatch: error: Batch job submission failed: " + std::string(silence))) << silence;
  // Maintenance passes, and a site's mistakes are mended.
  for (const char* later :
       {"Requested node configuration is not available", "Invalid partition name specified",
        "Invalid node name specified", "User's group not permitted to use this partition", "Access/permission denied",
        "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
        "Required partition not available (inactive or drain)", "Requested partition configuration not available now",
        "Required node not available (down, drained or reserved)", "Requested nodes are busy",
        "Requested operation is presently disabled", "Requested reservation is in use"})
    EXPECT_FALSE(is_sbatch_refusal("sbatch: error: Batch job submission failed: " + std::string(later))) << later;
  EXPECT_FALSE(is_sbatch_refusal("sbatch did not answer in time"));
  EXPECT_EQ(quote_for_shell("it's 'so'"), "'it'\\''s '\\''so'\\'''");
}

}  // namespace
}  // namespace berth
