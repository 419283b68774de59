// Traces with times, as their authors publish them: what each field becomes, and what a bad row is told.
#include "engine/base/text.h"
#include "engine/sim/trace.h"
#include "tests/unit/sim/temporary_file.h"

namespace berth {
namespace {

using test::TemporaryFile;

std::vector<TraceJob> jobs_of(std::string_view format, std::string_view text, const TraceOptions& options = {}) {
  const TemporaryFile file(text, "jobs.csv");
  auto read = read_trace_jobs(format, file.path(), {.format = options});
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(read->records) : std::vector<TraceJob>(9);
}

std::vector<TraceNode> nodes_of(std::string_view format, std::string_view text, const TraceOptions& options = {}) {
  const TemporaryFile file(text, "nodes.csv");
  auto read = read_trace_nodes(format, file.path(), {.format = options});
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(read->records) : std::vector<TraceNode>(9);
}

std::string error_of(std::string_view format, std::string_view text, const TraceOptions& options = {}) {
  const TemporaryFile file(text, "jobs.csv");
  const auto read = read_trace_jobs(format, file.path(), {.format = options});
  return read.ok() ? "no error" : file.without_folder(read.status().message());
}

constexpr std::string_view kPhilly =
    "timestamp,duration,num_gpus,gpu_time,cluster\n"
    "2017-10-09 07:01:55,66.0,1,66.0,6214e9\n"
    "2017-10-09 06:13:03,2951.5,12,2951.0,103959\n";

TEST(PhillyTrace, QueuesAreNamesAndLargeJobsGangs) {
  const auto jobs = jobs_of("philly", kPhilly);
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].name, "j000000");
  EXPECT_EQ(jobs[0].queue, "6214e9");
  EXPECT_EQ(print_time(jobs[0].submit), "2017-10-09 07:01:55");
  EXPECT_EQ(jobs[0].duration, Seconds(66));
  EXPECT_EQ(jobs[0].groups.at(0).gpu_count, 1);
  EXPECT_EQ(jobs[1].queue, "103959");
  EXPECT_EQ(jobs[1].duration, Seconds(2952));
  const TraceTaskGroup& gang = jobs[1].groups.at(0);
  EXPECT_EQ(gang.tasks, 12);
  EXPECT_EQ(gang.min_tasks, 12);
  EXPECT_EQ(gang.gpu_count, 1);
  EXPECT_EQ(gang.locality, Locality::kNode);
  EXPECT_FALSE(gang.locality_required);
}

TEST(PhillyTrace, GangsOfWholeNodesOnRequest) {
  const auto jobs = jobs_of("philly", kPhilly, {.devices_per_task = 8});
  EXPECT_EQ(jobs.at(0).groups.at(0).gpu_count, 1);
  EXPECT_EQ(jobs.at(1).groups.at(0).tasks, 3);
  EXPECT_EQ(jobs.at(1).groups.at(0).gpu_count, 4);
  EXPECT_EQ(error_of("philly", kPhilly, {.devices_per_task = 0}),
            "devices_per_task: 0 is not a number of devices from 1 to 32");
}

TEST(PhillyTrace, BadRowsAreNamed) {
  const std::string header = "timestamp,duration,num_gpus,gpu_time,cluster\n";
  EXPECT_EQ(error_of("philly", header + "2017-10-09 07:01:55,66.0,0,1,vc\n"),
            "jobs.csv:2:26: num_gpus: '0' is not an integer from 1 to 1000000");
  EXPECT_EQ(error_of("philly", header + "2017-10-09 07:01:55,-66.0,1,1,vc\n"),
            "jobs.csv:2:21: duration: '-66.0' is not a number from 0 to 1099511627776");
  EXPECT_EQ(error_of("philly", header + "2017-10-09 07:01:55,66,1,1,\n"), "jobs.csv:2:28: cluster: a name is expected");
}

TEST(PhillyTrace, NodesFormPools) {
  const auto nodes = nodes_of("philly", "vc,node num\n6214e9,2\nempty,0\n103959,1\n", {.node_devices = 4});
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[1].name, "6214e9-002");
  EXPECT_EQ(nodes[1].pool, "6214e9");
  EXPECT_EQ(nodes[1].devices, 4);
  EXPECT_EQ(nodes[2].name, "103959-001");
}

TEST(HeliosTrace, StaysInItsVirtualCluster) {
  const std::string_view text =
      "jobname,user,vc,gpu_num,state,submit_time,duration\n"
      "a,u,6214e9,8,Pass,2017-10-01 00:00:45,30\n"
      "b,v,6214e9,20,Killed,2017-10-01 00:01:55,61\n";
  const TemporaryFile estimates("jobname,duration,priority\na,30,281\nb,61,-20\n");
  const auto jobs = jobs_of("helios", text, {.estimates_file = estimates.path()});
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].groups.at(0).gpu_count, 8);
  EXPECT_EQ(jobs[0].groups.at(0).pool, "6214e9");
  EXPECT_EQ(jobs[0].outcome, JobState::kFinished);
  EXPECT_EQ(jobs[0].estimate("given"), 281000);
  EXPECT_EQ(jobs[0].estimate("user"), std::nullopt);
  ASSERT_EQ(jobs[1].groups.size(), 2U);
  EXPECT_EQ(jobs[1].groups[0].tasks, 2);
  EXPECT_EQ(jobs[1].groups[0].gpu_count, 8);
  EXPECT_EQ(jobs[1].groups[1].tasks, 1);
  EXPECT_EQ(jobs[1].groups[1].gpu_count, 4);
  EXPECT_EQ(jobs[1].outcome, JobState::kCancelled);
  EXPECT_EQ(jobs[1].estimate("given"), -20000);

  const TemporaryFile partial("jobname,priority\na,281\n", "estimates.csv");
  EXPECT_EQ(error_of("helios", text, {.estimates_file = partial.path()}),
            "jobs.csv:3:1: jobname: the estimates file lacks this job");
  EXPECT_EQ(error_of("helios", "jobname,user,vc,gpu_num,state,submit_time,duration\na,u,vc,8,Past,2017-10-01,30\n"),
            "jobs.csv:2:10: state: 'Past' is not how a job ends");
}

TEST(TiresiasTrace, CountsDevices) {
  const auto jobs = jobs_of("tiresias",
                            "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
                            "7,8,30,133,vgg11,147,23\n");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].name, "7");
  EXPECT_EQ(jobs[0].tag, "vgg11");
  EXPECT_EQ(jobs[0].submit, Seconds(30));
  EXPECT_EQ(jobs[0].duration, Seconds(147));
  EXPECT_EQ(jobs[0].groups.at(0).tasks, 8);
  EXPECT_EQ(jobs[0].groups.at(0).gpu_count, 1);
  const auto nodes = nodes_of(
      "tiresias", "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n2,3,4,64,256\n1,1,0,8,16");
  ASSERT_EQ(nodes.size(), 7U);
  EXPECT_EQ(nodes[5].name, "s2-n003");
  EXPECT_EQ(nodes[5].rack, "s2");
  EXPECT_EQ(nodes[5].devices, 4);
  EXPECT_EQ(nodes[5].memory, MiB(256 * 1024));
  EXPECT_EQ(nodes[6].name, "s3-n001");
  EXPECT_EQ(nodes[6].model, "");
}

TEST(PaiSimTrace, InstancesAndEstimates) {
  const std::string header =
      "job_id,num_inst,user,submit_time,num_cpu,num_gpu,gpu_type,duration,wait_time,user_dur,group_dur,group_gpu_dur\n";
  const auto jobs = jobs_of("pai_sim", header +
                                           "4,3,ann,100,6.5,0.32,T4,40750,10,1.5,2.000,3.125\n"
                                           "5,1,bob,101,16,0,CPU,5,0,0,0,0\n");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].user, "ann");
  EXPECT_EQ(jobs[0].start, Seconds(110));
  EXPECT_EQ(jobs[0].groups.at(0).tasks, 3);
  EXPECT_EQ(jobs[0].groups.at(0).cpu, MilliCpu(6500));
  EXPECT_EQ(jobs[0].groups.at(0).gpu_milli, MilliGpu(320));
  EXPECT_EQ(jobs[0].groups.at(0).models, "T4");
  EXPECT_EQ(jobs[0].estimate("user"), 1500);
  EXPECT_EQ(jobs[0].estimate("group"), 2000);
  EXPECT_EQ(jobs[0].estimate("group_gpu"), 3125);
  EXPECT_EQ(jobs[1].groups.at(0).models, "");
  EXPECT_EQ(error_of("pai_sim", header + "4,3,ann,100,6.5,1.5,T4,40750,10,1,2,3\n"),
            "jobs.csv:2:17: num_gpu: 1.5 devices: a task takes whole devices, or a fraction of one");
  const auto nodes =
      nodes_of("pai_sim", "machine,gpu_type,cap_cpu,cap_mem_gb,cap_gpu\nm,V100M32,96,384,8\nn,CPU,96,512,0\n");
  EXPECT_EQ(nodes.at(0).model, "V100M32");
  EXPECT_EQ(nodes.at(0).memory, MiB(384 * 1024));
  EXPECT_EQ(nodes.at(1).model, "");
}

TEST(TraceFormats, WithoutNodesSaySo) {
  const auto read = read_trace_nodes("swf", "any");
  EXPECT_EQ(read.status().message(), "the format 'swf' has no nodes");
  EXPECT_NE(read.status().hint().find("philly"), std::string::npos);
}

constexpr std::string_view kSwf =
    "; Version: 2.2\n"
    ";   UnixStartTime: 1000000\n"
    "\n"
    "  1   30 10  600 4 300.5 2048 8 900 4000 1 3 1 7 2 1 -1 -1\n"
    "2 40 -1 100 4 -1 -1 4 -1 -1 3 3 1 7 2 1 -1 -1\n"
    "3 50 -1 -1 2 -1 -1 -1 -1 -1 5 -1 -1 -1 -1 -1 1 20\n";

TEST(SwfTrace, FieldsAndComments) {
  const auto jobs = jobs_of("swf", kSwf);
  ASSERT_EQ(jobs.size(), 2U);
  const TraceJob& job = jobs[0];
  EXPECT_EQ(job.name, "1");
  EXPECT_EQ(job.submit, Seconds(1000030));
  EXPECT_EQ(job.start, Seconds(1000040));
  EXPECT_EQ(job.duration, Seconds(600));
  EXPECT_EQ(job.time_limit, Seconds(900));
  EXPECT_EQ(job.user, "user-3");
  EXPECT_EQ(job.queue, "queue-2");
  EXPECT_EQ(job.tag, "program-7");
  EXPECT_EQ(job.outcome, JobState::kFinished);
  EXPECT_EQ(job.groups.at(0).tasks, 8);
  EXPECT_EQ(job.groups.at(0).cpu, MilliCpu(1000));
  EXPECT_EQ(job.groups.at(0).memory, MiB(4));
  EXPECT_EQ(job.groups.at(0).usage.cpu_mean, MilliCpu(500));
  EXPECT_EQ(job.groups.at(0).usage.memory_peak, MiB(2));
  EXPECT_EQ(jobs[1].groups.at(0).tasks, 2);
  EXPECT_EQ(jobs[1].duration, std::nullopt);
  EXPECT_EQ(jobs[1].outcome, JobState::kCancelled);
  const auto on_devices = jobs_of("swf", kSwf, {.processors_are_gpus = true});
  EXPECT_EQ(on_devices.at(0).groups.at(0).gpu_count, 1);
  EXPECT_EQ(on_devices.at(0).groups.at(0).cpu, MilliCpu(0));
}

TEST(SwfTrace, BadLinesAreNamed) {
  EXPECT_EQ(error_of("swf", "1 2 3\n"), "jobs.csv:1: 3 fields; a line has 18");
  EXPECT_EQ(error_of("swf", "1 x 10 600 4 300 2 8 900 4 1 3 1 7 2 1 -1 -1\n"),
            "jobs.csv:1:3: submit time: 'x' is not a number");
  EXPECT_EQ(error_of("swf", "1 -1 10 600 4 300 2 8 900 4 1 3 1 7 2 1 -1 -1\n"), "jobs.csv:1:3: submit time: not known");
  EXPECT_EQ(error_of("swf", "1 5 10 600 -1 300 2 -1 900 4 1 3 1 7 2 1 -1 -1\n"),
            "jobs.csv:1:12: processors used: expected 1 to 1000000");
}

TEST(DlrmTrace, InstancesComeAndGo) {
  const auto jobs =
      jobs_of("dlrm",
              "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,"
              "memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,"
              "deletion_time\n"
              "i0,HN,app_0,12,12,1,1,25,25,120.5,120.0,640.0,800.0,8,,,500.0\n"
              "i1,CN,app_0,64,64,0,0,1,1,320.0,320.0,512.0,640.0,2,2049298.0000000002,2049299.0,\n");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].submit, Seconds(0));
  EXPECT_EQ(jobs[0].duration, Seconds(500));
  EXPECT_EQ(jobs[0].queue, "app_0");
  EXPECT_EQ(jobs[0].tag, "app_0 HN");
  EXPECT_EQ(jobs[0].groups.at(0).memory, MiB(123392));
  EXPECT_EQ(jobs[0].groups.at(0).gpu_count, 1);
  EXPECT_EQ(jobs[1].submit, Seconds(2049298));
  EXPECT_EQ(jobs[1].start, Seconds(2049299));
  EXPECT_EQ(jobs[1].duration, std::nullopt);
}

TEST(GavelTrace, StepsAtTheSpeedOfAModel) {
  const std::string_view text =
      "vc,arrival_s,job_type,num_gpu,total_steps\n"
      "6214e9,5,LM (batch size 5),1,100\n"
      "6214e9,6,LM (batch size 5),16,100\n";
  EXPECT_EQ(jobs_of("gavel", text).at(0).duration, std::nullopt);
  const std::string speeds =
      "{\"v100\": {\"('LM (batch size 5)', 1)\": {\"null\": 3.0}, \"('LM (batch size 5)', 8)\": {\"null\": 10}},"
      " \"k80\": {\"('A3C', 1)\": {\"null\": 1}}}";
  const TemporaryFile table(speeds, "speeds.json");
  const auto jobs = jobs_of("gavel", text, {.throughputs_file = table.path()});
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].name, "g000000");
  EXPECT_EQ(jobs[0].tag, "LM (batch size 5)");
  EXPECT_EQ(jobs[0].duration, Seconds(34));
  EXPECT_EQ(jobs[1].duration, Seconds(5));
  EXPECT_EQ(jobs[1].groups.at(0).tasks, 16);
  EXPECT_EQ(
      table.without_folder(error_of("gavel", text, {.throughputs_file = table.path(), .throughput_model = "p100"})),
      "speeds.json: no speeds of 'p100'");
  EXPECT_EQ(error_of("gavel", text, {.throughputs_file = table.path(), .throughput_model = "k80"}).substr(0, 8),
            "jobs.csv");
}

constexpr std::string_view kPaiJobTable =
    "j1,inst1,ann,Terminated,100.0,1000.0\n"
    "j2,inst2,bob,Failed,200.0,400.0\n"
    "j3,inst3,bob,Running,300.0,\n";
constexpr std::string_view kPaiTaskTable =
    "j1,worker,4.0,Terminated,120.0,1000.0,600.0,29.296875,50.0,T4\n"
    "j1,ps,1.0,Terminated,110.0,1000.0,400.0,10,,\n"
    "j2,tensorflow,1.0,Failed,210.0,400.0,600.0,29.296875,150.0,MISC\n"
    "j3,tensorflow,1.0,Running,310.0,,600.0,29.296875,100.0,MISC\n";

TEST(Pai2020Trace, JoinsItsTables) {
  const TemporaryFile tasks(kPaiTaskTable);
  const TemporaryFile tags("inst1,ann,V100,g1,bert\n");
  const auto jobs = jobs_of("pai2020", kPaiJobTable, {.tasks_file = tasks.path()});
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[0].submit, Seconds(100));
  EXPECT_EQ(jobs[0].start, Seconds(110));
  EXPECT_EQ(jobs[0].duration, Seconds(890));
  EXPECT_EQ(jobs[0].outcome, JobState::kFinished);
  ASSERT_EQ(jobs[0].groups.size(), 2U);
  EXPECT_EQ(jobs[0].groups[0].tasks, 4);
  EXPECT_EQ(jobs[0].groups[0].cpu, MilliCpu(6000));
  EXPECT_EQ(jobs[0].groups[0].memory, MiB(30000));
  EXPECT_EQ(jobs[0].groups[0].gpu_milli, MilliGpu(500));
  EXPECT_EQ(jobs[0].groups[0].models, "T4");
  EXPECT_EQ(jobs[0].groups[1].gpu_count, 0);
  EXPECT_EQ(jobs[1].groups.at(0).gpu_count, 2);
  EXPECT_EQ(jobs[1].outcome, JobState::kFailed);
  EXPECT_EQ(jobs[2].duration, std::nullopt);
  const auto tagged = jobs_of("pai2020", kPaiJobTable, {.tasks_file = tasks.path(), .tags_file = tags.path()});
  EXPECT_EQ(tagged.at(0).tag, "g1");
  EXPECT_EQ(tagged.at(0).groups.at(0).models, "V100");
  EXPECT_EQ(tagged.at(1).groups.at(0).models, "");
}

TEST(Pai2020Trace, TablesLieBesideEachOtherWithOrWithoutHeader) {
  const TemporaryFile jobs("job_name,inst_id,user,status,start_time,end_time\n" + std::string(kPaiJobTable),
                           "pai_job_table.csv");
  std::ofstream(jobs.folder() + "/pai_task_table.csv") << kPaiTaskTable;
  const auto read = read_trace_jobs("pai2020", jobs.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->records.size(), 3U);
  EXPECT_EQ(error_of("pai2020", kPaiJobTable).substr(0, 6), "'jobs.");
  const TemporaryFile tasks("j1,worker,0.0,Terminated,120.0,1000.0,600.0,29.3,50.0,T4\n", "tasks.csv");
  EXPECT_EQ(tasks.without_folder(error_of("pai2020", kPaiJobTable, {.tasks_file = tasks.path()})),
            "tasks.csv:1:11: inst_num: expected 1 to 1000000");
}

// The published files, where they are.
std::string shared_file(const std::string& path) {
  const char* folder = std::getenv("BERTH_SHARED");
  return (std::filesystem::path(folder != nullptr ? folder : "../shared") / "traces" / path).string();
}

struct PublishedFile {
  std::string_view format;
  std::string path;
  std::size_t jobs;
  std::int64_t milli_gpu;  // asked for by all of them
  TraceOptions options = {};
};

TEST(PublishedTraces, AreReadWhole) {
  if (!std::filesystem::exists(shared_file("philly"))) GTEST_SKIP() << "the published traces are not here";
  const PublishedFile files[] = {
      {"philly", "philly/philly_jobs.csv.gz", 82247, 107235000},
      {"pai_sim", "sim_inputs/philly_gang.csv.gz", 5212, 27882000},
      {"pai_sim", "sim_inputs/openb_pai.csv.gz", 7164, 5338510},
      {"pai_sim", "sim_inputs/philly_oct09_14d_le3d.csv.gz", 26824, 29442000},
      {"tiresias", "sim_inputs/tiresias_60_job.csv", 60, 170000},
      {"tiresias", "sim_inputs/tiresias_philly5000.csv.gz", 5000, 5579000},
      {"dlrm", "dlrm2025/disaggregated_DLRM_trace.csv.gz", 23871, 7386000},
      {"gavel",
       "gavel_msr/msr_seed0_jobs.csv.gz",
       15230,
       41991000,
       {.throughputs_file = shared_file("gavel_msr/simulation_throughputs.json.gz")}},
      {"helios",
       "sim_inputs/helios_cluster_log.csv.gz",
       24011,
       27482000,
       {.estimates_file = shared_file("sim_inputs/helios_philly_estimates.csv.gz")}},
  };
  for (const PublishedFile& file : files) {
    const auto read = read_trace_jobs(file.format, shared_file(file.path), {.format = file.options});
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->records.size(), file.jobs) << file.path;
    std::int64_t milli = 0;
    for (const TraceJob& job : read->records) {
      for (const TraceTaskGroup& group : job.groups) milli += group.gpu_milli.value() * group.gpu_count * group.tasks;
    }
    EXPECT_EQ(milli, file.milli_gpu) << file.path;
  }
}

TEST(PublishedTraces, NodesAreReadWhole) {
  if (!std::filesystem::exists(shared_file("philly"))) GTEST_SKIP() << "the published traces are not here";
  const auto count = [](std::string_view format, const std::string& path) {
    const auto read = read_trace_nodes(format, shared_file(path));
    EXPECT_TRUE(read.ok()) << read.status().message();
    std::int64_t devices = 0;
    for (const TraceNode& node : read->records) devices += node.devices;
    return devices;
  };
  EXPECT_EQ(count("philly", "philly/philly_vc_nodes.csv"), 352 * 8);
  EXPECT_EQ(count("helios", "sim_inputs/helios_vc_nodes_half.csv"), 176 * 8);
  EXPECT_EQ(count("tiresias", "sim_inputs/tiresias_n3g4.csv"), 12);
  EXPECT_EQ(count("tiresias", "sim_inputs/tiresias_n24g8.csv"), 192);
  EXPECT_EQ(count("pai_sim", "machines/pai2020_machine_spec.csv"), 6742);
}

}  // namespace
}  // namespace berth
