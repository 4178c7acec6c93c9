// SPDX-License-Identifier: Apache-2.0
//
// Records of the kernel's log: taken apart, judged, and those passed over that are old, foreign or
// our own.
#include <fcntl.h>
#include <unistd.h>

#include "daemon/watch/kernel_record.h"
#include "daemon/watch/kernel_source.h"
#include "tests/support/catch.h"
#include "tests/support/patterns.h"

using namespace collwatch;
using watch::as_dmesg;
using watch::KernelSource;
using watch::parse_kernel_record;

namespace {

class Bench {
 public:
  explicit Bench(KernelSource::Options options = {}) {
    options.path = "/dev/null";
    source = std::make_unique<KernelSource>(
        test::patterns(), std::move(options), [this](const wire::FromWatcher& message) {
          if (const auto* finding = std::get_if<wire::Finding>(&message)) found.push_back(*finding);
        });
  }
  /// How many findings that made.
  std::size_t record(const std::string& bytes) {
    const std::size_t before = found.size();
    source->on_record(bytes, now);
    return found.size() - before;
  }

  base::TimePoint now{std::chrono::hours(1)};
  std::vector<wire::Finding> found;
  std::unique_ptr<KernelSource> source;
};

}  // namespace

TEST_CASE("a record is taken apart") {
  const auto record = parse_kernel_record(
      "3,1234,1843308145,-;NVRM: Xid (PCI:0000:18:00): 79, \\x22gone\\x22\\x0a\n SUBSYSTEM=pci\n");
  REQUIRE(record);
  CHECK(record->level == 3);
  CHECK(record->facility == 0);
  CHECK(record->sequence == 1234);
  CHECK(record->microseconds == 1843308145);
  CHECK(record->message == "NVRM: Xid (PCI:0000:18:00): 79, \"gone\" ");
  CHECK(as_dmesg(*record) == "[ 1843.308145] NVRM: Xid (PCI:0000:18:00): 79, \"gone\" ");
  const auto user = parse_kernel_record("12,5,10,-,caller=T1;hello; there");
  REQUIRE(user);
  CHECK(user->facility == 1);
  CHECK(user->message == "hello; there");
}

TEST_CASE("what is no record is nothing") {
  for (const char* bytes : {"", ";", "x", "6", "6,1", "6,1,2", "6,1,2,-", "6;x", "6,1;x",
                            "-1,1,2,-;x", "6,x,2,-;x", "6,1,-2,-;x", "99999,1,2,-;x",
                            "6,99999999999999999999,2,-;x", "6 ,1,2,-;x", "\n6,1,2,-;x"}) {
    INFO(bytes);
    CHECK_FALSE(parse_kernel_record(bytes));
  }
}

TEST_CASE("GPU errors, OOM kills and lost links are told, each once") {
  Bench bench;
  CHECK(bench.record("3,1,1,-;NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU "
                     "has fallen off the bus.") == 1);
  CHECK(bench.found.back().fingerprint == model::Fingerprint::gpu_hardware_xid);
  CHECK(bench.found.back().source == model::Source::kernel);
  CHECK(bench.found.back().role == "initiating");
  CHECK(bench.record("6,2,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task_memcg=/job,"
                     "task=python3,pid=2066,uid=0") == 1);
  CHECK(bench.record("3,3,3,-;Memory cgroup out of memory: Killed process 2066 (python3) "
                     "total-vm:98765432kB") == 0);  // the same end again
  CHECK(bench.record("3,4,4,-;Out of memory: Killed process 2067 (python3) total-vm:1kB") == 1);
  CHECK(bench.found.back().fingerprint == model::Fingerprint::host_oom_kill);
  CHECK(bench.record("4,5,5,-;mlx5_core 0000:3b:00.0 ens1f0np0: Link down") == 1);
  CHECK(bench.found.back().fingerprint == model::Fingerprint::nccl_ib_error);
}

TEST_CASE("ordinary records, programs' records and the end of our own processes are silent") {
  KernelSource::Options options;
  options.own_pids = {77};
  Bench bench(std::move(options));
  CHECK(bench.record("6,1,1,-;br0: port 4(n3) entered forwarding state") == 0);
  CHECK(bench.record("4,2,2,-;mlx5_core 0000:3b:00.0 ens1f0np0: Link up") == 0);
  CHECK(bench.record("6,3,3,-;NVRM: Xid (PCI:0000:18:00): 63, pid='<unknown>', name=<unknown>, Row "
                     "Remapper: New row marked for remapping") == 0);
  CHECK(bench.record("11,4,4,-;Out of memory: Killed process 2066 (python3) total-vm:1kB") == 0);
  CHECK(bench.record("3,5,5,-;Out of memory: Killed process 2066 (collwatch-probe) total-vm:1kB") ==
        0);
  CHECK(bench.record("3,6,6,-;Out of memory: Killed process 77 (worker) total-vm:1kB") == 0);
  CHECK(bench.record("mere garbage") == 0);
  CHECK(bench.found.empty());
}

TEST_CASE("the next watcher passes over what the last one read") {
  KernelSource::Options options;
  options.after = 10;
  Bench bench(std::move(options));
  const std::string kill = ",1,-;Out of memory: Killed process 2066 (python3) total-vm:1kB";
  CHECK(bench.record("3,9" + kill) == 0);
  CHECK(bench.record("3,10" + kill) == 0);
  CHECK(bench.record("3,11" + kill) == 1);
  wire::Heartbeat heartbeat;
  bench.source->add_to(heartbeat);
  CHECK(heartbeat.kernel_sequence == 11);
  CHECK(heartbeat.troubles.empty());
}

TEST_CASE("a kernel log that cannot be opened is a trouble and no more") {
  KernelSource::Options options;
  options.path = "/no/such/kmsg";
  KernelSource source(test::patterns(), options, [](const wire::FromWatcher&) {});
  source.look(base::Clock::now());
  wire::Heartbeat heartbeat;
  source.add_to(heartbeat);
  REQUIRE(heartbeat.troubles.size() == 1);
  CHECK(heartbeat.troubles[0].source == model::Source::kernel);
  CHECK(heartbeat.troubles[0].text.find("/no/such/kmsg: No such file") != std::string::npos);
  CHECK(source.descriptors().empty());
}

TEST_CASE("records that were there before are passed over, and their last number is known") {
  if (::access("/dev/kmsg", R_OK) != 0) {
    WARN("SKIPPED: this host's kernel log cannot be read");
    return;
  }
  std::size_t found = 0;
  KernelSource source(test::patterns(), {}, [&](const wire::FromWatcher&) { ++found; });
  wire::Heartbeat heartbeat;
  source.add_to(heartbeat);
  if (!heartbeat.troubles.empty()) {
    WARN("SKIPPED: " << heartbeat.troubles[0].text);
    return;
  }
  CHECK(heartbeat.kernel_sequence >= 0);
  CHECK(found == 0);
}
