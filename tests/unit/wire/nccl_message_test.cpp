// SPDX-License-Identifier: Apache-2.0
//
// The NCCL conversation's promises: every message has its documented form and survives the trip,
// what a member says of itself fits into a meeting's blob, and no bytes make the codec throw.
#include "probes/wire/nccl_message.h"

#include "tests/support/catch.h"

using namespace collwatch::wire;
using collwatch::model::Collective;
using collwatch::model::Fingerprint;
using collwatch::model::Outcome;
using collwatch::model::Phase;
using collwatch::model::SkipReason;

namespace {

void check(const ToNccl& message, const std::string& packet) {
  CHECK(encode(message) == packet);
  const auto back = decode_to_nccl(packet);
  REQUIRE(back);
  CHECK(encode(*back) == packet);
}

void check(const FromNccl& message, const std::string& packet) {
  CHECK(encode(message) == packet);
  const auto back = decode_from_nccl(packet);
  REQUIRE(back);
  CHECK(encode(*back) == packet);
}

}  // namespace

TEST_CASE("messages to the NCCL worker") {
  check(ToNccl(NcclPrepare{2, "n0", "/l", "/j", 7, true, 900}),
        R"({"beside_jobs":true,"job_library":"/j","job_pid":7,"library":"/l","node":"n0",)"
        R"("timeout_ms":900,"type":"nccl_prepare","v":2})");
  check(ToNccl(NcclRun{5, Rung::rail, 1, 2, 3, {'\x01', '\xff'}, 800, {4, 8}}),
        R"({"device":1,"first_rank":2,"id":"01ff","ranks":3,"round":5,"rung":"rail",)"
        R"("sizes":[4,8],"timeout_ms":800,"type":"nccl_run"})");
  check(ToNccl(NcclStop{}), R"({"type":"nccl_stop"})");
}

TEST_CASE("messages from the NCCL worker") {
  check(FromNccl(NcclSkipped{SkipReason::mps, "t"}),
        R"({"reason":"mps","text":"t","type":"nccl_skipped"})");
  check(
      FromNccl(NcclPrepared{"/l", "n", "2.28.9", "13.0", "12.9", {{"b", "g", 5, {"x"}}}, {{'a'}}}),
      R"({"cuda":"13.0","devices":[{"bus":"b","free_bytes":5,"name":"g","troubles":["x"]}],)"
      R"("driver":"12.9","ids":["61"],"library":"/l","nccl":"2.28.9","note":"n",)"
      R"("type":"nccl_prepared"})");
  check(FromNccl(NcclPhase{"all", Phase::connect}),
        R"({"phase":"connect","scope":"all","type":"nccl_phase"})");
  check(FromNccl(NcclReport{5, Rung::all, Phase::warmup, Collective::reduce_scatter, 4, 8,
                            Outcome::misuse, Fingerprint::nccl_duplicate_gpu, 11, 12, "w"}),
        R"({"collective":"reduce_scatter","device_us":12,"duration_us":11,)"
        R"("fingerprint":"nccl_duplicate_gpu","outcome":"misuse","phase":"warmup","ranks":8,)"
        R"("round":5,"rung":"all","size_bytes":4,"text":"w","type":"nccl_report"})");
  check(FromNccl(NcclDone{Rung::rail}), R"({"rung":"rail","type":"nccl_done"})");
  check(FromNccl(NcclError{"e"}), R"({"text":"e","type":"nccl_error"})");
}

TEST_CASE("what a member brings to a meeting fits its blob and is checked") {
  NcclFacts facts;
  facts.nccl = "2.28.9+a-long-suffix";
  facts.cuda = "13.0";
  facts.driver = "13.0";
  facts.devices = 16;
  facts.ids = {Blob(128, '\xff'), Blob(128, 'a')};
  const Blob blob = encode_facts(facts);
  CHECK(blob.size() < 4096);  // what the peer port takes
  const auto back = decode_facts(blob);
  REQUIRE(back);
  CHECK(back->nccl == facts.nccl);
  CHECK(back->devices == 16);
  CHECK(back->ids == facts.ids);
  for (const std::string bytes :
       {"", "{}", "[1]", "\xff\xfe", R"({"type":"nccl_facts","v":"x"})"}) {
    CHECK(!decode_facts(Blob(bytes.begin(), bytes.end())));
  }
  const auto refused = [&](auto spoil) {
    NcclFacts spoiled = facts;
    spoil(spoiled);
    return !decode_facts(encode_facts(spoiled));
  };
  CHECK(refused([](NcclFacts& f) { f.v = 2; }));
  CHECK(refused([](NcclFacts& f) { f.devices = 0; }));
  CHECK(refused([](NcclFacts& f) { f.devices = -1; }));
  CHECK(refused([](NcclFacts& f) { f.devices = 2147483647; }));
  CHECK(refused([](NcclFacts& f) { f.ids.pop_back(); }));
  CHECK(refused([](NcclFacts& f) { f.ids[1].pop_back(); }));
  CHECK(!refused([](NcclFacts& f) { f.devices = kMostNcclDevices; }));
}
