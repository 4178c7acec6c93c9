// SPDX-License-Identifier: Apache-2.0
//
// Redaction: nothing of a machine, a person or a network is left in any format, the same thing has
// the same stand-in everywhere, and what the reader needs (ranks, texts, lines) stays.
#include <algorithm>

#include "daemon/diagnose/print.h"
#include "daemon/diagnose/redact_shapes.h"
#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;

namespace {

/// A text as the diagnosis of some line would carry it, redacted.
std::string redacted(const std::string& text, const std::vector<std::string>& hosts = {}) {
  Diagnosis diagnosis;
  diagnosis.verdict.root_cause = text;
  diagnosis.mentioned.hosts = hosts;
  redact(diagnosis);
  return diagnosis.verdict.root_cause;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

constexpr const char* kRank0 =
    "2026-11-30 05:05:45,842 INFO [rank 0/3 pid 17] start host=gpu-a17.lab.example.org user=alice\n"
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]:   File \"/home/alice/secret-project/train.py\", line 12, in main\n"
    "[rank0]:     dist.init_process_group('gloo', init_method='tcp://gpu-a17:29500')\n"
    "[rank0]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed "
    "by peer [fd00:17::3]:42097\n"
    "gpu-a17:17:99 [0] NCCL WARN Call to connect to 10.17.0.4<40211> failed\n";
constexpr const char* kRank1 =
    "2026-11-30 05:05:45,842 INFO [rank 1/3 pid 18] start host=gpu-b3\n"
    "[rank1]: Traceback (most recent call last):\n"
    "[rank1]:   File \"/home/alice/secret-project/train.py\", line 40, in step\n"
    "[rank1]: ValueError: cannot read /home/alice/secret-project/data/part-3.bin on gpu-b3 for "
    "alice@gpu-b3, from 10.17.0.4:80 or ::ffff:10.17.0.4\n";
constexpr const char* kLauncher =
    "srun: error: gpu-b3: task 1: Exited with exit code 1\n"
    "slurmstepd: error: *** STEP 79.0 ON gpu-a17 CANCELLED AT 2026-11-30T05:06:00 ***\n";

}  // namespace

TEST_CASE("nothing leaks into any format, whatever the files are called") {
  const TemporaryFolder folder;
  folder.write("alice-runs/gpu-a17/rank0.log", kRank0);
  folder.write("alice-runs/gpu-b3/rank1.log", kRank1);
  folder.write("alice-runs/slurm-alice.out", kLauncher);
  Diagnosis diagnosis = diagnose_paths({folder.path().string()});
  REQUIRE(essence(diagnosis) == std::make_pair(std::string("worker_exit"), std::optional<int>(1)));
  redact(diagnosis);
  const std::string json = to_json(diagnosis);
  const std::string text = to_text(diagnosis, engine().catalogue(), false);
  const std::string markdown = to_markdown(diagnosis, engine().catalogue());
  for (const std::string& printed : {json, text, markdown}) {
    INFO(printed);
    for (const char* secret : {"alice", "gpu-a17", "gpu-b3", "lab.example", "secret-project",
                               "10.17", "fd00", "ffff:", "/home", "collwatch-diagnose"}) {
      CAPTURE(secret);
      CHECK(printed.find(secret) == std::string::npos);
    }
    CHECK(printed.find("rank1.log") != std::string::npos);
    CHECK(printed.find("ValueError: cannot read") != std::string::npos);
  }
}

TEST_CASE("the same thing has the same stand-in, another thing another") {
  const std::string text = redacted(
      "10.0.0.1 and 10.0.0.2, again 10.0.0.1:80, [10.0.0.2]:9; node-a spoke to node-b, node-a did; "
      "/home/bob/a/x.log and /home/bob/a/y.log and /home/bob/b/x.log",
      {"node-a", "node-b"});
  CHECK(text ==
        "address-1 and address-2, again address-1:80, [address-2]:9; host-1 spoke to host-2, "
        "host-1 did; folder-1/x.log and folder-1/y.log and folder-2/x.log");
}

TEST_CASE("addresses of every shape go, what tells nothing or is none stays") {
  struct Row {
    const char* text;
    const char* redacted;
  };
  const Row rows[] = {
      {"10.0.0.1", "address-1"},
      {"peer=10.0.0.1:4711", "peer=address-1:4711"},
      {"addr:10.0.0.1.", "addr:address-1."},
      {"peer_10.0.0.1", "peer_address-1"},
      {"tcp://10.0.0.1:29500", "tcp://address-1:29500"},
      {"10.0.0.1<40211>", "address-1<40211>"},
      {"[fd00::3]:9782", "[address-1]:9782"},
      {"fe80::1%eth0", "address-1%eth0"},
      {"2001:db8:0:1:2:3:4:5", "address-1"},
      {"fd00::3: Connection refused", "address-1: Connection refused"},
      {"at ::ffff:10.0.0.1, not", "at address-1, not"},
      {"addr:fd00::3", "addr:address-1"},
      {"lladdr 0c:42:a1:2b:3c:4d up", "lladdr address-1 up"},
      {"127.0.0.1:29500 and [::1]:1 and 0.0.0.0", "127.0.0.1:29500 and [::1]:1 and 0.0.0.0"},
      {"c10::Error at::add std::string ::x", "c10::Error at::add std::string ::x"},
      {"12:30:45.123 05:05", "12:30:45.123 05:05"},
      {"PCI:0000:3b:00.0", "PCI:0000:3b:00.0"},
      {"torch 2.6.0 1.2.3.4.5 v1.2.3.4", "torch 2.6.0 1.2.3.4.5 v1.2.3.4"},
      {"300.1.2.3 1.2.3", "300.1.2.3 1.2.3"}};
  for (const Row& row : rows) CHECK(redacted(row.text) == row.redacted);
}

TEST_CASE("paths of every shape go, relative source files stay") {
  struct Row {
    const char* text;
    const char* redacted;
  };
  const Row rows[] = {{"/home/bob/x.py:3", "folder-1/x.py:3"},
                      {"file:///mnt/bob/rdzv", "file://folder-1/rdzv"},
                      {"PYTHONPATH=/a/b:/c/d", "PYTHONPATH=folder-1/b:folder-2/d"},
                      {"-I/opt/bob/include", "-Ifolder-1/include"},
                      {"~bob/exp/x.py and ~/exp/y.py", "folder-1/x.py and folder-2/y.py"},
                      {"C:\\Users\\bob\\x.py", "folder-1/x.py"},
                      {"(/a/b/c)", "(folder-1/c)"},
                      {"df /dev/shm /usr/lib/python3/x.py", "df /dev/shm /usr/lib/python3/x.py"},
                      {"./gloo/transport/tcp/pair.cc:598", "./gloo/transport/tcp/pair.cc:598"},
                      {"torch/distributed/run.py", "torch/distributed/run.py"},
                      {"../third_party/gloo/pair.cc", "../third_party/gloo/pair.cc"},
                      {"3/4 and and/or /tmp", "3/4 and and/or /tmp"}};
  for (const Row& row : rows) CHECK(redacted(row.text) == row.redacted);
}

TEST_CASE("hosts and users that only the text names are known by what stands around them") {
  struct Row {
    const char* text;
    const char* redacted;
  };
  const Row rows[] = {
      {"connect to [head-0.ml.svc]:29500 failed; head-0 is away",
       "connect to [host-1]:29500 failed; host-1 is away"},
      {"MASTER_ADDR=login1 then login1", "MASTER_ADDR=host-1 then host-1"},
      {"network address of (trainer-0, 29500)", "network address of (host-1, 29500)"},
      {"JOB 79 ON n17 CANCELLED AT", "JOB 79 ON host-1 CANCELLED AT"},
      {"ssh bob@n17 as bob", "ssh user-1@host-1 as user-1"},
      {"ip-10-0-0-4.ec2.internal is down", "host-1 is down"},
      {"/home/bob/a/x.py was bob's", "folder-1/x.py was user-1's"},
      {"user=bob, UID:1000 after 1000 ms", "user=user-1, UID:user-2 after 1000 ms"},
      {"host: unreachable, on node failure, user=root",
       "host: unreachable, on node failure, user=root"},
      {"[Rank 0]: [default1]: [1]: failed", "[Rank 0]: [default1]: [1]: failed"}};
  for (const Row& row : rows) CHECK(redacted(row.text) == row.redacted);
}

TEST_CASE("a host's short name is the host, a word that only contains it is not") {
  CHECK(redacted("n7 n70 xn7 n7-x n7.", {"n7"}) == "host-1 n70 xn7 host-1-x host-1.");
  CHECK(redacted("it is in an environment", {"in", "localhost", "10"}) ==
        "it is in an environment");
}

TEST_CASE("redacted diagnoses of all cases name the same class and rank, and no address") {
  for (const Case& one : cases()) {
    INFO(one.name);
    Diagnosis diagnosis = diagnose_paths({one.logs.string()});
    const auto before = essence(diagnosis);
    redact(diagnosis);
    CHECK(essence(diagnosis) == before);
    const std::string printed =
        to_json(diagnosis) + to_text(diagnosis, engine().catalogue(), false);
    CHECK(printed.find(COLLWATCH_SOURCE_DIR) == std::string::npos);
    for (std::size_t at = 0; at < printed.size(); ++at) {
      if (address_at(printed, at) != 0) FAIL("left: " << printed.substr(at, 40));
    }
    // Redacting once more changes nothing: stand-ins are nobody's names.
    const std::string once = to_json(diagnosis);
    redact(diagnosis);
    CHECK(count(to_json(diagnosis), "host-") == count(once, "host-"));
  }
}
