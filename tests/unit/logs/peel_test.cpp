// SPDX-License-Identifier: Apache-2.0
//
// Each prefix by itself, then stacked as launchers stack them: what is left of the line, and what
// was learned about its writer.
#include "daemon/logs/peel.h"

#include <string>

#include "tests/support/catch.h"

using namespace collwatch;

namespace {

struct Peeled {
  logs::Who who;
  std::string text;
};

Peeled peeled(const std::string& line) {
  Peeled result;
  result.text = std::string(logs::peel(line, result.who));
  return result;
}

/// What is learned, in one short text: "rank=3 host=node-a E".
std::string learned(const logs::Who& who) {
  std::string text;
  const auto add = [&](const char* name, const auto& value) {
    if (value) text += (text.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(*value);
  };
  add("rank", who.rank);
  add("group", who.group_rank);
  add("local", who.local_rank);
  add("label", who.label);
  add("world", who.world);
  add("pid", who.pid);
  const auto word = [&](const std::string& value) { text += (text.empty() ? "" : " ") + value; };
  if (!who.host.empty()) word("host=" + who.host);
  if (!who.time.empty()) word("time=" + who.time);
  if (who.severity != 0) word(std::string(1, who.severity));
  if (who.is_kernel) word("kernel");
  if (who.is_native) word("native");
  return text;
}

struct Row {
  const char* line;
  const char* text;
  const char* learned;
};

template <std::size_t N>
void check(const Row (&rows)[N]) {
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const Peeled result = peeled(row.line);
    CHECK(result.text == row.text);
    CHECK(learned(result.who) == row.learned);
  }
}

}  // namespace

TEST_CASE("launchers: torchrun, mpirun, srun, pods, actors, hosts") {
  const Row rows[] = {
      {"[rank3]: ValueError: x", "ValueError: x", "rank=3"},
      {"[rank3]:   File \"a.py\", line 3, in f", "  File \"a.py\", line 3, in f", "rank=3"},
      {"[default2]:text", "text", "local=2"},
      {"[trainer0]:text", "text", "local=0"},
      {"[1,3]<stderr>:text", "text", "rank=3"},
      {"[1,3]<stdout>:text", "text", "rank=3"},
      {"[4]<stderr>:text", "text", "rank=4"},
      {"Mon Nov 30 05:05:45 2026[5]<stderr>:text", "text", "rank=5 time=Mon Nov 30 05:05:45 2026"},
      {"12: text", "text", "label=12"},
      {" 3: text", "text", "label=3"},
      {"(RayTrainWorker pid=48213, ip=10.0.0.7) text", "text", "pid=48213 host=10.0.0.7"},
      {"(RayTrainWorker pid=48213) text", "text", "pid=48213"},
      {"(train rank=2, pid=7) text", "text", "rank=2 pid=7"},
      {"(EngineCore_DP0 pid=68245) text", "text", "pid=68245"},
      {"(Worker_TP3 pid=68250) text", "text", "rank=3 pid=68250"},
      {"(raylet) text", "text", ""},
      {"trainer/0 [1]:text", "text", "local=1"},
      {"[pod/trainer-3/pytorch] text", "text", "host=trainer-3"},
      {"worker-1: text", "text", "host=worker-1"},
      {"rank3: text", "text", "rank=3"},
      {"worker-1  | text", "text", "host=worker-1"},
      {"10.0.0.3: text", "text", "host=10.0.0.3"},
      {"[rank 0/3 pid 17] text", "text", "rank=0 world=3 pid=17"},
      {"[RANK 3] text", "text", "rank=3"},
      {"[rank: 3] text", "text", "rank=3"},
      {"[rank=3] text", "text", "rank=3"}};
  check(rows);
}

TEST_CASE("loggers: c10, glog, python's, vLLM's, the kernel, the journal") {
  const Row rows[] = {
      {"[E1129 12:00:00.123456789 ProcessGroupNCCL.cpp:607] text", "text",
       "time=12:00:00 E native"},
      {"[W reducer.cpp:1400] text", "text", "W native"},
      {"E20261130 04:22:13.012705 12024 ProcessGroupGloo.cpp:137] text", "text",
       "time=20261130 04:22:13.012705 E native"},
      {"W1130 05:05:46.103000 1234 torch/distributed/run.py:793] text", "text",
       "time=1130 05:05:46.103000 W native"},
      {"2026-11-30 05:05:45,842 INFO text", "text", "time=2026-11-30T05:05:45.842 I"},
      {"2026-11-30T05:05:45.842Z text", "text", "time=2026-11-30T05:05:45.842Z"},
      {"2026-11-30T05:05:45+01:00 text", "text", "time=2026-11-30T05:05:45+01:00"},
      {"[2026-11-30 05:05:45] text", "text", "time=2026-11-30T05:05:45"},
      {"[2026-01-30 18:11:27 TP1] text", "text", "rank=1 time=2026-01-30T18:11:27"},
      {"ERROR:torch.distributed.run:text", "text", "E"},
      {"[WARNING] text", "text", "W"},
      {"INFO 11-30 05:05:47 [metrics.py:455] text", "text", "time=11-30 05:05:47 I"},
      {"[ 1843.308145] text", "text", "kernel"},
      {"Nov 30 05:05:49 sys0 vllm[68245]: text", "text",
       "pid=68245 host=sys0 time=Nov 30 05:05:49"},
      {"Nov 30 05:05:49 sys0 kernel: text", "text", "host=sys0 time=Nov 30 05:05:49 kernel"},
      {"2026-11-30T05:05:45.842Z stderr F text", "text", "time=2026-11-30T05:05:45.842Z"},
      {"\xe2\x94\x82 text      \xe2\x94\x82", "text", ""}};
  check(rows);
}

TEST_CASE("Open MPI's host and pid, alone and under what a rank says of itself") {
  const Row rows[] = {
      {"[gpu-a17:4711] text", "text", "pid=4711 host=gpu-a17"},
      {"[athena:4711] text", "text", "pid=4711 host=athena"},
      {"[node07.lab.example:99] text", "text", "pid=99 host=node07.lab.example"},
      {"[gpu-a17:4711] [rank1]: ValueError: x", "ValueError: x", "rank=1 pid=4711 host=gpu-a17"},
      {"[rank1]: [gpu-a17:4711] x", "x", "rank=1 pid=4711 host=gpu-a17"},
      {"[1,3]<stderr>:[gpu-a17:4711] *** Process received signal ***",
       "*** Process received signal ***", "rank=3 pid=4711 host=gpu-a17"},
      {"[prterun-gpu-a17-4711@1,3]<stderr>: x", " x", "rank=3"},
      {"[gpu-a17:4711:0] text", "text", "pid=4711 host=gpu-a17"}};
  check(rows);
}

TEST_CASE("syslog of every age, kubectl's and stern's pods") {
  const Row rows[] = {
      {"<14>1 2026-11-30T05:05:45.842Z gpu-a17 train 4711 - - [rank1]: x", "x",
       "rank=1 pid=4711 host=gpu-a17 time=2026-11-30T05:05:45.842Z"},
      {"<165>1 2026-11-30T05:05:45Z gpu-a17 train - ID47 [a@1 k=\"v]\" l=\"\\\"\"][b@1] x", "x",
       "host=gpu-a17 time=2026-11-30T05:05:45Z"},
      {"1 2026-11-30T05:05:45+01:00 gpu-a17 kernel - - - \xef\xbb\xbfNVRM: Xid", "NVRM: Xid",
       "host=gpu-a17 time=2026-11-30T05:05:45+01:00 kernel"},
      {"<34>Nov 30 05:05:49 gpu-a17 train[4711]: x", "x",
       "pid=4711 host=gpu-a17 time=Nov 30 05:05:49"},
      {"Nov 30 05:05:49 athena train.sh: [rank2]: x", "x",
       "rank=2 host=athena time=Nov 30 05:05:49"},
      {"2026-11-30T05:05:49.1+00:00 gpu-a17 train.sh: x", "x",
       "host=gpu-a17 time=2026-11-30T05:05:49.1+00:00"},
      {"<4>[ 1843.308145] NVRM: Xid", "NVRM: Xid", "kernel"},
      {"[pod/trainer-3/pytorch] [rank3]: x", "x", "rank=3 host=trainer-3"},
      {"trainer-3 pytorch [rank3]: x", "x", "rank=3 host=trainer-3"},
      {"trainer-7d9f-x2 pytorch ValueError: x", "ValueError: x", "host=trainer-7d9f-x2"}};
  check(rows);
}

TEST_CASE("NCCL's bracket is a device, never a rank") {
  const Row rows[] = {
      {"node07:1234:1250 [3] NCCL WARN Call to connect failed", "NCCL WARN Call to connect failed",
       "pid=1234 host=node07 E"},
      {"node07:1234:1250 [0] NCCL INFO Channel 00", "NCCL INFO Channel 00",
       "pid=1234 host=node07 I"},
      {"node07:1234:1250 NCCL WARN text", "NCCL WARN text", "pid=1234 host=node07 E"},
      {"node07:1234:1250 [0] init.cc:1 NCCL WARN text", "init.cc:1 NCCL WARN text",
       "pid=1234 host=node07 E"}};
  check(rows);
  CHECK_FALSE(peeled("node07:1234:1250 [3] NCCL WARN x").who.rank.has_value());
  CHECK_FALSE(peeled("node07:1234:1250 [3] NCCL WARN x").who.local_rank.has_value());
}

TEST_CASE("c10's [Rank 3] counts in one group: noted, and left in the text") {
  const auto result = peeled("[Rank 3] Watchdog caught collective operation timeout");
  CHECK(result.text == "[Rank 3] Watchdog caught collective operation timeout");
  CHECK(result.who.group_rank == 3);
  CHECK_FALSE(result.who.rank.has_value());
}

TEST_CASE("prefixes on top of each other come off together") {
  const Row rows[] = {
      {"[rank0]:[W1130 05:05:46.103 reducer.cpp:1400] Warning: x", "Warning: x",
       "rank=0 time=05:05:46 W native"},
      {" 3: [rank3]: ValueError: x", "ValueError: x", "rank=3 label=3"},
      {"0: node07:1234:1250 [3] NCCL WARN x", "NCCL WARN x", "label=0 pid=1234 host=node07 E"},
      {"[pod/trainer-3/pytorch] 2026-11-30T05:05:45Z [rank3]: RuntimeError: x", "RuntimeError: x",
       "rank=3 host=trainer-3 time=2026-11-30T05:05:45Z"},
      {"2026-11-30T05:05:45.8Z stderr F [default1]:[rank9]: x", "x",
       "rank=9 local=1 time=2026-11-30T05:05:45.8Z"},
      {"Nov 30 05:05:49 node-a train[48213]: 2026-11-30 05:05:48,100 ERROR x", "x",
       "pid=48213 host=node-a time=Nov 30 05:05:49 E"},
      {"Nov 30 05:05:49 node-a kernel: [ 1843.308145] NVRM: Xid", "NVRM: Xid",
       "host=node-a time=Nov 30 05:05:49 kernel"},
      {"[1,3]<stderr>:[rank3]: x", "x", "rank=3"},
      {"worker-1: worker-1: text", "worker-1: text", "host=worker-1"},
      {"(RayTrainWorker pid=7, ip=10.0.0.4) [rank2]:[E1130 05:00:00.1 a.cpp:7] [Rank 2] x",
       "[Rank 2] x", "rank=2 group=2 pid=7 host=10.0.0.4 time=05:00:00 E native"}};
  check(rows);
}

TEST_CASE("what only looks like a prefix stays") {
  for (const char* line : {"ValueError: x",
                           "RuntimeError: [1] is no rank",
                           "step 3: loss 2.1",
                           "Error: it broke",
                           "ERROR: text",
                           "Info about nothing",
                           "[1, 2, 3]",
                           "[tensor([1.])]",
                           "[]: x",
                           "[rank]: x",
                           "rank3 Error",
                           "12 lines",
                           "12:30 lunch",
                           "(see pid=)",
                           "(text without an end",
                           "Traceback (most recent call last):",
                           "  File \"x.py\", line 3, in f",
                           "::1",
                           "[",
                           "(",
                           "[[",
                           "http://host1: x",
                           "[pair.cc:534] Connection closed",
                           "[train.py:1234] x",
                           "[cuda:0] x",
                           "[cuda:7777] x",
                           "[10.0.0.3:4711] x",
                           "[gpu:3] x",
                           "<1>text",
                           "<14>text",
                           "1 2026 words",
                           "pre-2020 models are old",
                           "worker-1 says hello"}) {
    CAPTURE(line);
    CHECK(peeled(line).text == line);
    CHECK_FALSE(peeled(line).who.rank.has_value());
  }
}

TEST_CASE("numbers too large for a rank, and endless prefixes, are text") {
  CHECK_FALSE(peeled("[rank99999999999]: x").who.rank.has_value());
  std::string endless;
  for (int i = 0; i < 1000; ++i) endless += "[rank1]: ";
  const auto result = peeled(endless + "x");
  CHECK(result.who.rank == 1);
  CHECK(result.text.size() > 8000);
}
