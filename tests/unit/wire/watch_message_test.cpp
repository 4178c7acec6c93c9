// SPDX-License-Identifier: Apache-2.0
//
// The watcher's channel: every message round-trips, and whatever comes that is none is an Error.
#include "probes/wire/watch_message.h"

#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::wire;
using Catch::Matchers::ContainsSubstring;

namespace {

// Every field differs from its default and stands in the text, so that a field left out of the
// codec shows.
void check(const FromWatcher& message, const std::string& packet) {
  CHECK(encode(message) == packet);
  const auto decoded = decode_from_watcher(packet);
  REQUIRE(decoded);
  CHECK(decoded->index() == message.index());
  CHECK(encode(*decoded) == packet);
}

void check(const ToWatcher& message, const std::string& packet) {
  CHECK(encode(message) == packet);
  const auto decoded = decode_to_watcher(packet);
  REQUIRE(decoded);
  CHECK(decoded->index() == message.index());
  CHECK(encode(*decoded) == packet);
}

}  // namespace

TEST_CASE("every message of the watcher's conversation round-trips") {
  check(ToWatcher(WatchStart{2, "n0", "/f"}),
        R"({"fingerprints":"/f","node":"n0","type":"watch_start","v":2})");
  check(
      ToWatcher(WatchPlan{
          {{"/l/%h/*.log", 20, 30}}, true, 40, false, 50, 60, 70, "safe", "::1", 80, {"slurm:1"}}),
      R"({"bytes_per_second":60,"kernel":true,"kernel_after":40,"logs":[{"bytes_per_second":20,"glob":"/l/%h/*.log",)"
      R"("since_ms":30}],"processes_ms":50,"ras_host":"::1","ras_left":["slurm:1"],"ras_mode":"safe","ras_port":80,)"
      R"("settled_ns":70,"shared_files":false,"type":"watch_plan"})");
  const FilePosition position{"/l/a.log", 1, 2, 3, 4, 5, 6};
  const char* const packet =
      R"({"device":1,"head_bytes":5,"head_hash":6,"inode":2,"line":4,"offset":3,)"
      R"("path":"/l/a.log","type":"file_position"})";
  check(ToWatcher(position), packet);
  check(FromWatcher(position), packet);
  check(ToWatcher(WatchStop{}), R"({"type":"watch_stop"})");
  check(FromWatcher(WatchHello{3, "0.1.0", 77}),
        R"({"build":"0.1.0","pid":77,"type":"watch_hello","v":3})");
  check(FromWatcher(Finding{model::Fingerprint::gloo_peer_lost, model::Source::kernel, "initiating",
                            3, "h", "slurm:1", "/l/a.log", 40, "text"}),
        R"({"file":"/l/a.log","fingerprint":"gloo_peer_lost","host":"h","job":"slurm:1","line":40,)"
        R"("rank":3,"role":"initiating","source":"kernel","text":"text","type":"finding"})");
  check(
      FromWatcher(
          WatchedJobs{{{"slurm:1", {1, 2}, {3}, 4, 5, "gloo", "6", "7", "8", true, "/l", 9}}, "9"}),
      R"({"driver":"9","jobs":[{"backend":"gloo","cuda":"8","job":"slurm:1","missing":[3],"nccl":"7",)"
      R"("nccl_library":"/l","nccl_pid":9,"processes":4,)"
      R"("ranks":[1,2],"stalled":true,"torch":"6","world_size":5}],"type":"watched_jobs"})");
  check(FromWatcher(FileForgotten{1, 2}), R"({"device":1,"inode":2,"type":"file_forgotten"})");
  check(
      FromWatcher(Heartbeat{1, 2, 3, 4, 7, 8, 5, 6, {{model::Source::kernel, "t"}}, "why", {"j"}}),
      R"({"bytes":1,"files":4,"kernel_sequence":6,"lag":3,"ras":"why","ras_left":["j"],"repeats":5,"settled_ns":8,)"
      R"("skipped":2,"troubles":[{"source":"kernel","text":"t"}],"type":"heartbeat","waiting":7})");
}

TEST_CASE("garbage from a watcher is an Error that says what is wrong") {
  const auto error = [](std::string_view packet) {
    const auto decoded = decode_from_watcher(packet);
    return decoded ? std::string("taken") : decoded.error().text;
  };
  CHECK_THAT(error(""), ContainsSubstring("not a JSON object"));
  CHECK_THAT(error("[1]"), ContainsSubstring("not a JSON object"));
  CHECK_THAT(error("{\"type\":1}"), ContainsSubstring("no type"));
  CHECK_THAT(error(R"({"type":"watch_plan"})"), ContainsSubstring("unknown message type"));
  CHECK_THAT(error(R"({"type":"file_forgotten","device":1})"),
             ContainsSubstring("'inode' is missing"));
  CHECK_THAT(error(R"({"type":"file_forgotten","device":-1,"inode":2})"),
             ContainsSubstring("'device' has a wrong type or range"));
  CHECK_THAT(error(R"({"type":"watch_hello","v":99999999999,"build":"","pid":1})"),
             ContainsSubstring("'v' has a wrong type or range"));
  CHECK_THAT(error(std::string(70000, ' ')), ContainsSubstring("longer than the protocol allows"));
  CHECK_THAT(error("\xff\xfe{}"), ContainsSubstring("not a JSON object"));
  const auto plan = decode_to_watcher(
      R"({"type":"watch_plan","logs":[],"kernel":1,"kernel_after":0,"shared_files":true})");
  REQUIRE_FALSE(plan);
  CHECK_THAT(plan.error().text, ContainsSubstring("'kernel' has a wrong type"));
}

TEST_CASE("a text that is no UTF-8 or too long goes out as something that can be read back") {
  Finding finding;
  finding.text = std::string("\xc3\x28 \xff") + std::string(100000, 'x');
  const auto back = decode_from_watcher(encode(FromWatcher(finding)));
  REQUIRE(back);
  CHECK(std::get<Finding>(*back).text.size() <= 4096);
}
