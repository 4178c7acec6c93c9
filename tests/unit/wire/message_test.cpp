// SPDX-License-Identifier: Apache-2.0
//
// The codec's promises: every message round-trips, what is malformed is an Error that says where,
// and no bytes make it throw.
#include "probes/wire/message.h"

#include <limits>

#include "tests/support/catch.h"

using namespace collwatch::wire;
using collwatch::model::Collective;
using collwatch::model::ErrorCode;
using collwatch::model::Outcome;
using collwatch::model::Phase;

namespace {

constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kMinI64 = std::numeric_limits<std::int64_t>::min();

// Every field differs from its default and stands in the text, so that a field left out of the
// codec shows.
template <typename Variant>
struct Sample {
  Variant message;
  const char* packet;
};

std::vector<Sample<ToWorker>> to_worker_samples() {
  return {{Start{2, "node-a"}, R"({"node":"node-a","type":"start","v":2})"},
          {EdgePrepare{"node-b", kMaxU64, 1, "fd00::3", 700, 2000},
           R"({"attempt":18446744073709551615,"interval_ms":2000,"local_address":"fd00::3",)"
           R"("peer":"node-b","rank":1,"timeout_ms":700,"type":"edge_prepare"})"},
          {EdgeConnect{"node-b", 7, "ctx-1", Blob{'\0', '\x7f', '\xff', 'a'}},
           R"({"attempt":7,"blob":"007fff61","context_id":"ctx-1","peer":"node-b",)"
           R"("type":"edge_connect"})"},
          {EdgeClose{"node-c"}, R"({"peer":"node-c","type":"edge_close"})"},
          {Round{kMinI64, 400, {{"node-b", 8193}, {"node-c", 1025}}},
           R"({"large":[{"bytes":8193,"peer":"node-b"},{"bytes":1025,"peer":"node-c"}],)"
           R"("number":-9223372036854775808,"timeout_ms":400,"type":"round"})"},
          {GroupPrepare{3, 2, 4, "10.0.0.1", 2500},
           R"({"attempt":3,"local_address":"10.0.0.1","rank":2,"size":4,"timeout_ms":2500,)"
           R"("type":"group_prepare"})"},
          {GroupConnect{3, "ctx-2", {Blob{}, Blob{'x'}, Blob{'\xfe'}}},
           R"({"attempt":3,"blobs":["","78","fe"],"context_id":"ctx-2","type":"group_connect"})"},
          {GroupRun{3, 12, 2800, {{Collective::alltoall, 1048576}, {Collective::allreduce, 8}}},
           R"({"attempt":3,"round":12,"steps":[{"collective":"alltoall","size_bytes":1048576},)"
           R"({"collective":"allreduce","size_bytes":8}],"timeout_ms":2800,"type":"group_run"})"},
          {GroupClose{}, R"({"type":"group_close"})"},
          {Stop{}, R"({"type":"stop"})"}};
}

std::vector<Sample<FromWorker>> from_worker_samples() {
  return {
      {Hello{2, "gloo", "gloo-0.5.0/136", 4711},
       R"({"backend":"gloo","build":"gloo-0.5.0/136","pid":4711,"type":"hello","v":2})"},
      {PhaseEntered{"edge:node-b", Phase::warmup},
       R"({"phase":"warmup","scope":"edge:node-b","type":"phase_entered"})"},
      {EdgePrepared{"node-b", 9, Blob{'a', '\x80'}},
       R"({"attempt":9,"blob":"6180","peer":"node-b","type":"edge_prepared"})"},
      {EdgeReport{"node-b", 9, Phase::connect, 41, Outcome::timeout, Half::send, 65536, 8193, 120,
                  900, "Timed out"},
       R"({"attempt":9,"failed_bytes":8193,"half":"send","large_round_trip_us":900,)"
       R"("outcome":"timeout","payload_bytes":65536,"peer":"node-b","phase":"connect","round":41,)"
       R"("round_trip_us":120,"text":"Timed out","type":"edge_report"})"},
      {GroupPrepared{5, Blob{'z'}}, R"({"attempt":5,"blob":"7a","type":"group_prepared"})"},
      {CollectiveReport{5, 12, Phase::warmup, Collective::broadcast, 4, Outcome::peer_lost, 800, 20,
                        "Connection closed by peer [10.0.0.2]:4711"},
       R"({"attempt":5,"collective":"broadcast","duration_us":800,"outcome":"peer_lost",)"
       R"("phase":"warmup","round":12,"size_bytes":4,)"
       R"("text":"Connection closed by peer [10.0.0.2]:4711","type":"collective_report",)"
       R"("wait_us":20})"},
      {GroupAccusations{5, 12, {0, 4}},
       R"({"attempt":5,"round":12,"type":"group_accusations","wrong_from":[0,4]})"},
      {RoundAck{41, 12000}, R"({"late_us":12000,"number":41,"type":"round_ack"})"},
      {WorkerError{"\"quoted\" \n and \t \x01"},
       R"({"text":"\"quoted\" \n and \t \u0001","type":"worker_error"})"}};
}

}  // namespace

TEST_CASE("every message to a worker has its documented form and survives the trip") {
  const auto samples = to_worker_samples();
  REQUIRE(samples.size() == std::variant_size_v<ToWorker>);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    REQUIRE(samples[i].message.index() == i);
    CHECK(encode(samples[i].message) == samples[i].packet);
    const auto back = decode_to_worker(samples[i].packet);
    REQUIRE(back);
    CHECK(back->index() == i);
    CHECK(encode(*back) == samples[i].packet);
  }
}

TEST_CASE("every message from a worker has its documented form and survives the trip") {
  const auto samples = from_worker_samples();
  REQUIRE(samples.size() == std::variant_size_v<FromWorker>);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    REQUIRE(samples[i].message.index() == i);
    CHECK(encode(samples[i].message) == samples[i].packet);
    const auto back = decode_from_worker(samples[i].packet);
    REQUIRE(back);
    CHECK(back->index() == i);
    CHECK(encode(*back) == samples[i].packet);
  }
}

TEST_CASE("unknown keys are ignored") {
  const auto stop = decode_to_worker(R"({"type":"stop","later":{"deep":[1,2,{"x":null}]}})");
  REQUIRE(stop);
  CHECK(std::holds_alternative<Stop>(*stop));
}

TEST_CASE("what is malformed is a protocol error that names the place") {
  struct Row {
    const char* packet;
    const char* says;
  };
  const Row rows[] = {
      {"", "not a JSON object"},
      {"[1,2]", "not a JSON object"},
      {"{\"type\":\"stop\"", "not a JSON object"},
      {"{\"type\":\"stop\"} trailing", "not a JSON object"},
      {"{}", "no type"},
      {R"({"type":7})", "no type"},
      {R"({"type":"explode"})", "unknown message type 'explode'"},
      {R"({"type":"hello","v":1,"backend":"g","build":"b","pid":1})", "unknown message type"},
      {R"({"type":"start","v":1})", "field 'node' is missing"},
      {R"({"type":"start","v":"1","node":"a"})", "field 'v'"},
      {R"({"type":"start","v":1.0,"node":"a"})", "field 'v'"},
      {R"({"type":"start","v":true,"node":"a"})", "field 'v'"},
      {R"({"type":"start","v":99999999999,"node":"a"})", "field 'v'"},
      {R"({"type":"start","v":1,"node":null})", "field 'node'"},
      {R"({"type":"edge_close","peer":["a"]})", "field 'peer'"},
      {R"({"type":"edge_connect","peer":"a","attempt":-1,"context_id":"c","blob":""})", "attempt"},
      {R"({"type":"edge_connect","peer":"a","attempt":1,"context_id":"c","blob":"0"})", "blob"},
      {R"({"type":"edge_connect","peer":"a","attempt":1,"context_id":"c","blob":"0g"})", "blob"},
      {R"({"type":"edge_connect","peer":"a","attempt":1,"context_id":"c","blob":"AB"})", "blob"},
      {R"({"type":"round","number":1,"timeout_ms":1,"large":{}})", "large"},
      {R"({"type":"round","number":1,"timeout_ms":1,"large":[{"peer":"a"}]})", "bytes"},
      {R"({"type":"round","number":1,"timeout_ms":1,"large":[{"peer":"a","bytes":-1}]})", "bytes"},
      {R"({"type":"group_run","attempt":1,"round":1,"timeout_ms":1,)"
       R"("steps":[{"collective":"gossip","size_bytes":4}]})",
       "collective"},
  };
  for (const Row& row : rows) {
    INFO(row.packet);
    const auto message = decode_to_worker(row.packet);
    REQUIRE_FALSE(message);
    CHECK(message.error().code == ErrorCode::protocol);
    CHECK_THAT(message.error().text, Catch::Matchers::ContainsSubstring(row.says));
  }
  const auto report = decode_from_worker(R"({"type":"phase_entered","scope":"g","phase":"nap"})");
  REQUIRE_FALSE(report);
  CHECK_THAT(report.error().text, Catch::Matchers::ContainsSubstring("phase"));
}

TEST_CASE("lengths are bounded on the way in") {
  const std::string long_name(4097, 'n');
  CHECK_FALSE(decode_to_worker(R"({"type":"edge_close","peer":")" + long_name + "\"}"));
  const std::string blob(2 * 8192 + 2, 'a');
  CHECK_FALSE(
      decode_from_worker(R"({"type":"group_prepared","attempt":1,"blob":")" + blob + "\"}"));
  std::string steps;
  for (int i = 0; i < 1025; ++i) steps += R"({"collective":"barrier","size_bytes":0},)";
  steps.pop_back();
  CHECK_FALSE(decode_to_worker(
      R"({"type":"group_run","attempt":1,"round":1,"timeout_ms":1,"steps":[)" + steps + "]}"));
  const std::string huge(kMaxPacketBytes + 1, ' ');
  CHECK_FALSE(decode_to_worker(huge));
  CHECK_FALSE(decode_to_worker(std::string(kMaxPacketBytes, '[')));
}

TEST_CASE("an endless or dirty text is cut and cleaned when it is written, and stays readable") {
  const auto text_after = [](const std::string& text) {
    const std::string packet = encode(FromWorker{WorkerError{text}});
    CHECK(packet.size() <= kMaxPacketBytes);
    const auto back = decode_from_worker(packet);
    REQUIRE(back);
    return std::get<WorkerError>(*back).text;
  };
  CHECK(text_after(std::string(100000, 'x')) == std::string(4096, 'x'));
  CHECK(text_after(std::string(100000, '\x01')).size() == 4096);
  CHECK(text_after("a\xff"
                   "b\xc3") == "a?b?");
  CHECK(text_after("\xed\xa0\x80") == "???");   // a surrogate is not UTF-8
  CHECK(text_after("\xc3\xa9") == "\xc3\xa9");  // é is
  CHECK(text_after(std::string(4095, 'x') + "\xc3\xa9") == std::string(4095, 'x'));
}
