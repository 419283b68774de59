#include "engine/sim/trace.h"

#include "engine/base/text.h"
#include "engine/sim/berth_trace.h"
#include "tests/unit/sim/temporary_file.h"

namespace berth {
namespace {

using test::TemporaryFile;

std::string jobs_error(std::string_view format, std::string_view text) {
  const TemporaryFile file(text, "jobs.csv");
  const auto read = read_trace_jobs(format, file.path());
  return read.ok() ? "no error" : file.without_folder(read.status().message());
}

std::string nodes_error(std::string_view format, std::string_view text) {
  const TemporaryFile file(text, "nodes.csv");
  const auto read = read_trace_nodes(format, file.path());
  return read.ok() ? "no error" : file.without_folder(read.status().message());
}

TEST(TraceFormats, AreFoundByName) {
  EXPECT_TRUE(find_trace_format("OpenB").ok());
  const auto missing = find_trace_format("openbb");
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_NE(missing.status().hint().find("openb"), std::string::npos);
}

TEST(OpenbTrace, PodsWithAllColumns) {
  const TemporaryFile file(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
      "p0,6000,12288,1,460,V100M16|T4,LS,Running,100,900,250\n"
      "p1,8000,100,0,0,,BE,Pending,200,900,\n"
      "p2,8000,100,8,1000,,BE,Running,200,900,300\n");
  const auto read = read_trace_jobs("openb", file.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->records.size(), 3U);
  const TraceJob& share = read->records[0];
  EXPECT_EQ(share.name, "p0");
  EXPECT_EQ(share.submit, Seconds(100));
  EXPECT_EQ(share.duration, Seconds(650));
  ASSERT_EQ(share.groups.size(), 1U);
  EXPECT_EQ(share.groups[0].cpu, MilliCpu(6000));
  EXPECT_EQ(share.groups[0].memory, MiB(12288));
  EXPECT_EQ(share.groups[0].gpu_milli, MilliGpu(460));
  EXPECT_EQ(share.groups[0].models, "V100M16|T4");
  EXPECT_EQ(read->records[1].duration, std::nullopt);
  EXPECT_EQ(read->records[1].groups[0].gpu_count, 0);
  EXPECT_EQ(read->records[2].groups[0].gpu_count, 8);
}

TEST(OpenbTrace, PodsWithFiveColumnsOnly) {
  const TemporaryFile file("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,6000,12288,2,1000\n");
  const auto read = read_trace_jobs("openb", file.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->records.at(0).submit, Seconds(0));
  EXPECT_EQ(read->records.at(0).duration, std::nullopt);
}

TEST(OpenbTrace, BadRowsAreNamed) {
  const std::string header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n";
  EXPECT_EQ(jobs_error("openb", header + "p,x,1,0,0,,,\n"),
            "jobs.csv:2:3: cpu_milli: 'x' is not an integer from 0 to 1099511627776");
  EXPECT_EQ(jobs_error("openb", header + "p,1,1,2,500,,,\n"),
            "jobs.csv:2:9: gpu_milli: a task takes whole devices, or a fraction of one");
  EXPECT_EQ(jobs_error("openb", header + "p,1,1,1,0,,,\n"), "jobs.csv:2:9: gpu_milli: 0 of a device asked for");
  EXPECT_EQ(jobs_error("openb", header + "p,1,1,1,1000,1,5,9\n"),
            "jobs.csv:2:16: deletion_time: before scheduled_time");
  EXPECT_EQ(jobs_error("openb", header + "p,1,1,1,1000,,,\np,1,1,1,1000,,,\n"),
            "jobs.csv:3: the name 'p' was given before, at jobs.csv:2");
  EXPECT_EQ(jobs_error("openb", header + ",1,1,1,1000,,,\n"), "jobs.csv:2:1: name: a name is expected");
}

TEST(OpenbTrace, Nodes) {
  const TemporaryFile file("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,96000,1000,0,\n");
  const auto read = read_trace_nodes("openb", file.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->records.at(0).model, "P100");
  EXPECT_EQ(read->records.at(0).devices, 2);
  EXPECT_EQ(read->records.at(1).devices, 0);
  EXPECT_EQ(nodes_error("openb", "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,\n"),
            "nodes.csv:2:19: model: a name is expected");
  EXPECT_EQ(nodes_error("openb", "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,99,T4\n"),
            "nodes.csv:2:17: gpu: '99' is not an integer from 0 to 32");
}

constexpr std::string_view kNodes =
    "name,cpu,memory,devices,model,device_memory,rack,pool,link_groups\n"
    "a1,128,1TiB,4,A100,80GiB,r1,train,[0 1] [2 3]\n"
    "c1,64,256GiB,,,,,,\n";

TEST(BerthTrace, NodesReadAndWrittenAreTheSame) {
  const TemporaryFile file(kNodes);
  const auto read = read_trace_nodes("berth", file.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  const TraceNode& node = read->records.at(0);
  EXPECT_EQ(node.cpu, MilliCpu(128000));
  EXPECT_EQ(node.memory, MiB(1048576));
  EXPECT_EQ(node.device_memory, MiB(81920));
  EXPECT_EQ(node.link_groups, "[0 1] [2 3]");
  const std::string text = berth_nodes_csv(read->records);
  const auto again = read_trace_nodes("berth", TemporaryFile(text).path());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(berth_nodes_csv(again->records), text);
}

constexpr std::string_view kJobs =
    "name,queue,priority,submit,duration,group,tasks,min_tasks,cpu,memory,gpus,gpu_memory,models,locality,user\n"
    "j1,nlp,high,2026-01-05 08:00,90m,,4,2,8,64GiB,2,,A100|H100,rack preferred,ann\n"
    "j2,ads,,2026-01-05 08:00,2h,worker,2,,4,8GiB,0.5,10GiB,,node,\n"
    "j2,,,2026-01-05 08:00,,ps,1,,2,4GiB,,,,,\n"
    "j3,ads,-5,2026-01-05 09:00,,,,,2,4GiB,,,,,\n";

constexpr std::string_view kHistory =
    "name,submit,cpu,memory,group,gpus,tag,start,outcome,time_limit,estimates,cpu_used_mean,cpu_used_peak,memory_peak,"
    "gpu_utilisation_mean,gpu_memory_peak\n"
    "j1,100,8,64GiB,a,2,train.py,130,failed,2h,user=90 group=-75.5,1.4,3,3.5GiB,0.042,900MiB\n"
    "j1,100,1,1GiB,b,,,,,,,0.5,,,,\n"
    "j2,200,1,1GiB,,,,,,,,,,,,\n";

TEST(BerthTrace, WhatBecameOfTheJobs) {
  const auto read = read_trace_jobs("berth", TemporaryFile(kHistory).path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->records.size(), 2U);
  const TraceJob& job = read->records[0];
  EXPECT_EQ(job.tag, "train.py");
  EXPECT_EQ(job.start, Seconds(130));
  EXPECT_EQ(job.outcome, JobState::kFailed);
  EXPECT_EQ(job.time_limit, Seconds(7200));
  EXPECT_EQ(job.estimate("user"), 90000);
  EXPECT_EQ(job.estimate("group"), -75500);
  const TraceUsage& usage = job.groups.at(0).usage;
  EXPECT_EQ(usage.cpu_mean, MilliCpu(1400));
  EXPECT_EQ(usage.cpu_peak, MilliCpu(3000));
  EXPECT_EQ(usage.memory_peak, MiB(3584));
  EXPECT_EQ(usage.gpu_mean, MilliGpu(42));
  EXPECT_EQ(usage.gpu_memory_peak, MiB(900));
  EXPECT_EQ(job.groups.at(1).usage.cpu_mean, MilliCpu(500));
  EXPECT_EQ(job.groups.at(1).usage.memory_peak, std::nullopt);
  EXPECT_EQ(read->records[1].outcome, std::nullopt);

  const std::string text = berth_jobs_csv(read->records);
  const auto again = read_trace_jobs("berth", TemporaryFile(text).path());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(berth_jobs_csv(again->records), text);
  EXPECT_EQ(again->records[0].estimates, job.estimates);
  EXPECT_EQ(again->records[0].groups[0].usage, usage);
}

TEST(BerthTrace, BadHistoryIsNamed) {
  const std::string header = "name,submit,cpu,memory,tag,start,outcome,estimates,gpu_utilisation_mean\n";
  EXPECT_EQ(jobs_error("berth", header + "j,1,1,1GiB,,,lost,,\n"),
            "jobs.csv:2:14: outcome: 'lost' is not how a job ends");
  EXPECT_EQ(jobs_error("berth", header + "j,1,1,1GiB,,,,user,\n"),
            "jobs.csv:2:15: estimates: 'user' is not name=seconds");
  EXPECT_EQ(jobs_error("berth", header + "j,1,1,1GiB,,never,,,\n").substr(0, 21), "jobs.csv:2:13: start:");
}

TEST(BerthTrace, JobsWithGroups) {
  const TemporaryFile file(kJobs);
  const auto read = read_trace_jobs("berth", file.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->records.size(), 3U);
  const TraceJob& gang = read->records[0];
  EXPECT_EQ(gang.submit, Seconds(1767600000));
  EXPECT_EQ(gang.duration, Seconds(5400));
  EXPECT_EQ(gang.groups[0].tasks, 4);
  EXPECT_EQ(gang.groups[0].min_tasks, 2);
  EXPECT_EQ(gang.groups[0].gpu_count, 2);
  EXPECT_EQ(gang.groups[0].locality, Locality::kRack);
  EXPECT_FALSE(gang.groups[0].locality_required);
  const TraceJob& two = read->records[1];
  ASSERT_EQ(two.groups.size(), 2U);
  EXPECT_EQ(two.groups[0].gpu_milli, MilliGpu(500));
  EXPECT_EQ(two.groups[0].gpu_memory, MiB(10240));
  EXPECT_EQ(two.groups[0].min_tasks, 2);
  EXPECT_EQ(two.groups[1].name, "ps");
  EXPECT_EQ(two.queue, "ads");
  EXPECT_EQ(read->records[2].duration, std::nullopt);

  const std::string text = berth_jobs_csv(read->records);
  const auto again = read_trace_jobs("berth", TemporaryFile(text).path());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(berth_jobs_csv(again->records), text);
}

TEST(BerthTrace, BadRowsAreNamed) {
  const std::string header = "name,submit,cpu,memory,gpus,gpu_memory,tasks,min_tasks,locality,group,duration\n";
  EXPECT_EQ(jobs_error("berth", header + "j,0,1,1GiB,1.5,,,,,,\n"),
            "jobs.csv:2:12: gpus: 1.5 devices: a task takes whole devices, or a fraction of one");
  EXPECT_EQ(jobs_error("berth", header + "j,0,1,1GiB,33,,,,,,\n"),
            "jobs.csv:2:12: gpus: 33 devices for one task; a node has at most 32");
  EXPECT_EQ(jobs_error("berth", header + "j,0,1,1GiB,,,2,3,,,\n"),
            "jobs.csv:2:16: min_tasks: more than the 2 tasks of the group");
  EXPECT_EQ(jobs_error("berth", header + "j,0,1,1GiB,,8GiB,,,,,\n"),
            "jobs.csv:2:13: gpu_memory: device memory, but no device is asked for");
  EXPECT_EQ(jobs_error("berth", header + "j,0,1,1GiB,1,,,,nearby,,\n"),
            "jobs.csv:2:17: locality: 'nearby' is not a locality (any, rack, node, link_group)");
  EXPECT_EQ(jobs_error("berth", header + "j,0,1,1GiB,1,,,,,a,\nj,0,1,1GiB,1,,,,,a,\n"),
            "jobs.csv:3: job 'j' has a second group named 'a'; rows of one job need different groups");
  EXPECT_EQ(jobs_error("berth", header + "j,0,1,1GiB,1,,,,,a,5\nj,0,1,1GiB,1,,,,,b,6\n"),
            "jobs.csv:3: duration of job 'j' is not what jobs.csv:2 says");
  EXPECT_EQ(nodes_error("berth", "name,cpu,memory,devices,model\nn,8,1GiB,2,\n"),
            "nodes.csv:2:12: model: a node with devices needs their model");
  EXPECT_TRUE(nodes_error("berth", "name,cpu,memory,devices,model,link_groups\nn,8,1GiB,2,T4,[0 5]\n")
                  .starts_with("nodes.csv:2:15: link_groups:"));
}

TEST(BerthTrace, SkippingABadRowSkipsItsWholeJobAndReportsIt) {
  const TemporaryFile file(
      "name,submit,cpu,memory,group\n"
      "a,0,1,1GiB,\n"
      "b,0,1,1GiB,x\n"
      "b,0,oops,1GiB,y\n"
      "b,0,1,1GiB,z\n"
      "c,0,1\n"
      "d,zero,1,1GiB,\n"
      "e,0,1,1GiB,\n",
      "jobs.csv");
  EXPECT_FALSE(read_trace_jobs("berth", file.path()).ok());
  const auto read = read_trace_jobs("berth", file.path(), {.skip_bad_rows = true});
  ASSERT_TRUE(read.ok()) << read.status().message();
  std::vector<std::string> names;
  for (const TraceJob& job : read->records) names.push_back(job.name);
  EXPECT_EQ(join(names, " "), "a e");
  ASSERT_EQ(read->skipped.size(), 3U);
  EXPECT_TRUE(file.without_folder(read->skipped[0].message()).starts_with("jobs.csv:4:5: cpu: 'oops'"));
  EXPECT_EQ(file.without_folder(read->skipped[1].message()), "jobs.csv:6: 3 fields, but the header has 5");
  EXPECT_TRUE(file.without_folder(read->skipped[2].message()).starts_with("jobs.csv:7:3: submit: 'zero'"));
}

TEST(BerthTrace, AFileOfBadRowsAloneIsNotReadToItsEnd) {
  std::string text = "name,submit,cpu,memory\n";
  for (int i = 0; i < 110'000; ++i) text += "x\n";
  const TemporaryFile file(text, "jobs.csv");
  const Status refused = read_trace_jobs("berth", file.path(), {.skip_bad_rows = true}).status();
  EXPECT_EQ(refused.code(), Code::kInvalid);
  EXPECT_EQ(refused.hint(), "after 100000 bad rows the rest was not read");
  const std::atomic<bool> interrupted = true;
  EXPECT_EQ(read_trace_jobs("berth", file.path(), {.skip_bad_rows = true, .interrupted = &interrupted}).status().code(),
            Code::kInterrupted);
}

}  // namespace
}  // namespace berth
