// SPDX-License-Identifier: Apache-2.0
//
// The codec's promises: what goes in comes out, strangers get an Error and nothing else, what a
// later version adds is ignored, and seven edges fit into 600 bytes.
#include "daemon/peer/message.h"

#include <map>

#include "daemon/peer/cbor.h"
#include "daemon/peer/mac.h"
#include "tests/support/catch.h"
#include "tests/unit/peer/sample_messages.h"

using namespace collwatch;
using peer::Json;

namespace {

std::map<std::string, peer::Request> all_requests() {
  return {{"dial", samples::request(peer::Dial{})},
          {"meet_pair", samples::request(peer::MeetPair{{'\0', 'x', '\xff'}})},
          {"meet_group", samples::request(peer::MeetGroup{"0123abcd", "b007-1"})},
          {"meet_group_blob", samples::request(peer::MeetGroupBlob{"b007-2", {'y'}})},
          {"witness", samples::request(samples::witness())},
          {"left", samples::request(peer::Left{"stopped by systemd"})}};
}

std::map<std::string, peer::Reply> all_replies() {
  return {
      {"here", samples::reply(std::monostate{})},
      {"pair_met", samples::reply(peer::PairMet{"b007-3", {'z', '\0'}})},
      {"group_fixed", samples::reply(peer::GroupFixed{"b007-4", 1, 42, {"a", "b"}, {"c"}, true})},
      {"group_met", samples::reply(peer::GroupMet{{{'1'}, {'2'}}})},
      {"refusal",
       samples::reply(peer::Refusal{peer::RefusalReason::duplicate_name, "two of you"})}};
}

Json parsed(const std::string& body) {
  return peer::parse_cbor(body).value();
}

bool request_ok(const Json& json) {
  return peer::decode_request(peer::to_cbor(json)).has_value();
}

bool witness_ok(const Json& json) {
  return peer::decode_witness(peer::to_cbor(json)).has_value();
}

}  // namespace

/// The place of the edges in a witness array; what stands behind them was appended later.
constexpr std::size_t kEdges = 15;

TEST_CASE("every request and reply says the same after a trip through the codec") {
  for (const auto& [type, request] : all_requests()) {
    INFO(type);
    const auto decoded = peer::decode_request(peer::encode(request));
    REQUIRE(decoded);
    CHECK(decoded->body.index() == request.body.index());
    CHECK(peer::encode(*decoded) == peer::encode(request));
    CHECK(parsed(peer::encode(request))["type"] == type);
  }
  for (const auto& [type, reply] : all_replies()) {
    INFO(type);
    const auto decoded = peer::decode_reply(peer::encode(reply));
    REQUIRE(decoded);
    CHECK(decoded->body.index() == reply.body.index());
    CHECK(peer::encode(*decoded) == peer::encode(reply));
    CHECK(parsed(peer::encode(reply))["type"] == type);
  }
}

TEST_CASE("the fields of an identity and of a body arrive as they were sent") {
  const auto request = peer::decode_request(peer::encode(all_requests().at("meet_pair"))).value();
  const peer::Identity sent = samples::identity();
  CHECK(request.from.name == sent.name);
  CHECK(request.from.incarnation == sent.incarnation);
  CHECK(request.from.version == sent.version);
  CHECK(request.from.build == sent.build);
  CHECK(request.from.advertised == sent.advertised);
  CHECK(request.from.view_hash == sent.view_hash);
  CHECK(request.from.worker == sent.worker);
  CHECK(request.from.worker_trouble == sent.worker_trouble);
  CHECK(request.from.round_ms == sent.round_ms);
  CHECK(request.from.wall_offset_ms == sent.wall_offset_ms);
  CHECK(request.from.interval_ms == sent.interval_ms);
  CHECK(request.from.versions == sent.versions);
  CHECK(request.from.cookie == sent.cookie);
  CHECK(request.shows == 0xfedcba9876543211);
  CHECK(std::get<peer::MeetPair>(request.body).blob == peer::Blob{'\0', 'x', '\xff'});
  const auto fixed = std::get<peer::GroupFixed>(
      peer::decode_reply(peer::encode(all_replies().at("group_fixed")))->body);
  CHECK(fixed.members == std::vector<std::string>{"a", "b"});
  CHECK(fixed.missing == std::vector<std::string>{"c"});
  CHECK(fixed.rank == 1);
  CHECK(fixed.round == 42);
  CHECK(fixed.gentle);
}

TEST_CASE("the fields of a witness message arrive as they were sent") {
  const peer::WitnessMessage sent = samples::witness();
  const auto got = peer::decode_witness(peer::encode(sent)).value();
  CHECK(got.from == sent.from);
  CHECK(got.incarnation == sent.incarnation);
  CHECK(got.to == sent.to);
  CHECK(got.sequence == sent.sequence);
  CHECK(got.shows == sent.shows);
  CHECK(got.round_ms == sent.round_ms);
  CHECK(got.wall_offset_ms == sent.wall_offset_ms);
  CHECK(got.echo_round_ms == sent.echo_round_ms);
  CHECK(got.echo_age_ms == sent.echo_age_ms);
  CHECK(got.round == sent.round);
  CHECK(got.local_health == sent.local_health);
  CHECK((got.cut_off && got.left && got.late));
  CHECK(got.worker == sent.worker);
  CHECK(got.worker_trouble == sent.worker_trouble);
  CHECK(got.view == sent.view);
  REQUIRE(got.edges.size() == 2);
  CHECK(got.edges[1].peer == peer::name_hash("node-c"));
  CHECK(got.edges[1].heard_age_ms == 900);
  CHECK(got.edges[1].word.late_ms == 80);
  CHECK(got.edges[1].word.lost == 4);
  const attribute::EdgeWord& word = got.edges[1].word;
  CHECK(word.state == attribute::EdgeState::failing);
  CHECK(word.outcome == model::Outcome::peer_lost);
  CHECK(word.round == 1'700'000'000);
  CHECK(word.failing_since == 1'699'999'999);
  CHECK(word.failed_rounds == 2);
  CHECK(word.ok_rounds == 0);
  CHECK(word.inbound == attribute::Heard::silent);
  CHECK(word.reason == model::Reason::host_stall);

  peer::WitnessMessage bare;
  bare.from = "a";
  bare.incarnation = "1";
  const auto plain = peer::decode_witness(peer::encode(bare)).value();
  CHECK_FALSE(plain.echo_round_ms);
  CHECK_FALSE(plain.worker_trouble);
  CHECK_FALSE((plain.cut_off || plain.left || plain.late));
}

TEST_CASE("the widest datagram about seven peers takes at most 600 bytes") {
  const std::size_t bytes = peer::encode(samples::widest_witness(7)).size() + peer::kShortMacBytes;
  INFO(bytes);
  CHECK(bytes <= 600);
  const std::string most = peer::encode(samples::widest_witness(peer::kMaxWitnessEdges));
  CHECK(most.size() + peer::kShortMacBytes <= peer::kMaxDatagramBytes);
  CHECK(peer::decode_witness(most));
}

TEST_CASE("names are hashed by FNV-1a, 32 bits") {
  CHECK(peer::name_hash("") == 0x811c9dc5);
  CHECK(peer::name_hash("a") == 0xe40c292c);
  CHECK(peer::name_hash("foobar") == 0xbf9cf968);
}

TEST_CASE("what a later version adds is ignored") {
  Json request = parsed(peer::encode(all_requests().at("dial")));
  request["v"] = 2;
  request["from"]["colour"] = "green";
  request["from"]["worker"] = "meditating";
  request["from"]["worker_trouble"] = "worker_bored";
  request["later"] = {1, 2, 3};
  const auto decoded = peer::decode_request(peer::to_cbor(request));
  REQUIRE(decoded);
  CHECK(decoded->v == 2);
  CHECK(decoded->from.worker == model::WorkerState::absent);
  CHECK_FALSE(decoded->from.worker_trouble);

  Json witness = parsed(peer::encode(samples::witness()));
  for (Json& edge : witness[kEdges]) edge.push_back("later");
  witness.push_back("later");
  CHECK(peer::decode_witness(peer::to_cbor(witness))->edges.size() == 2);

  Json refusal = parsed(peer::encode(all_replies().at("refusal")));
  refusal["reason"] = "out_of_tea";
  const auto reply = peer::decode_reply(peer::to_cbor(refusal)).value();
  CHECK(std::get<peer::Refusal>(reply.body).reason == peer::RefusalReason::timeout);
}

TEST_CASE("what an older agent does not say yet reads as unsaid") {
  Json request = parsed(peer::encode(all_requests().at("dial")));
  request["from"].erase("interval_ms");
  request["from"].erase("versions");
  request["from"].erase("cookie");
  request.erase("shows");
  const auto decoded = peer::decode_request(peer::to_cbor(request));
  REQUIRE(decoded);
  CHECK(decoded->from.interval_ms == 0);
  CHECK(decoded->from.versions.empty());
  CHECK(decoded->from.cookie == 0);
  CHECK(decoded->shows == 0);
  Json witness = parsed(peer::encode(samples::witness()));
  witness.erase(16);
  for (Json& edge : witness[kEdges]) edge.erase(edge.begin() + 10, edge.end());
  const auto heard = peer::decode_witness(peer::to_cbor(witness));
  REQUIRE(heard);
  CHECK(heard->shows == 0);
  CHECK(heard->edges[0].word.late_ms == attribute::EdgeWord{}.late_ms);
  CHECK(heard->edges[0].word.lost == attribute::EdgeWord{}.lost);
}

TEST_CASE("a later agent may tell more versions than we take; what is none is refused") {
  Json request = parsed(peer::encode(all_requests().at("dial")));
  Json& versions = request["from"]["versions"];
  versions = Json::array();
  for (std::size_t i = 0; i < 2 * peer::kMaxVersions; ++i) {
    versions.push_back("what " + std::to_string(i));
    versions.push_back("1");
  }
  versions.push_back("without a version");
  const auto decoded = peer::decode_request(peer::to_cbor(request));
  REQUIRE(decoded);
  CHECK(decoded->from.versions.size() == peer::kMaxVersions);
  versions = Json::array({"driver", 5});
  CHECK_FALSE(peer::decode_request(peer::to_cbor(request)));
  versions = "driver";
  CHECK_FALSE(peer::decode_request(peer::to_cbor(request)));
  // Ours is cut where it is written.
  peer::Request sent = all_requests().at("dial");
  for (int i = 0; i < 99; ++i) sent.from.versions["what " + std::to_string(i)] = "1";
  CHECK(peer::decode_request(peer::encode(sent))->from.versions.size() == peer::kMaxVersions);
}

TEST_CASE("an edge's words that only a later version knows become the vague ones") {
  Json witness = parsed(peer::encode(samples::witness()));
  Json& edge = witness[kEdges][0];
  edge[1] = 200;  // state
  edge[2] = 200;  // outcome
  edge[7] = 200;  // inbound
  edge[8] = 200;  // reason
  const auto word = peer::decode_witness(peer::to_cbor(witness)).value().edges[0].word;
  CHECK(word.state == attribute::EdgeState::unknown);
  CHECK(word.outcome == model::Outcome::error);
  CHECK(word.inbound == attribute::Heard::unknown);
  CHECK_FALSE(word.reason);
}

TEST_CASE("a missing, mistyped or oversized field is refused") {
  const Json good = parsed(peer::encode(all_requests().at("meet_pair")));
  REQUIRE(request_ok(good));
  for (const auto& item : good.items()) {
    INFO(item.key());
    Json broken = good;
    broken.erase(item.key());
    CHECK(request_ok(broken) == (item.key() == "shows"));  // appended
    broken[item.key()] = 1.5;
    CHECK_FALSE(request_ok(broken));
  }
  for (const auto& item : good["from"].items()) {
    INFO(item.key());
    Json broken = good;
    broken["from"].erase(item.key());
    const bool appended =
        item.key() == "interval_ms" || item.key() == "cookie" || item.key() == "versions";
    CHECK(request_ok(broken) == appended);
    broken["from"][item.key()] = Json::object();
    CHECK_FALSE(request_ok(broken));
  }
  const auto with = [&](const char* key, const Json& value) {
    Json changed = good;
    changed["from"][key] = value;
    return request_ok(changed);
  };
  CHECK(with("name", std::string(peer::kMaxNameBytes, 'n')));
  CHECK_FALSE(with("name", std::string(peer::kMaxNameBytes + 1, 'n')));
  CHECK_FALSE(with("name", ""));
  CHECK_FALSE(with("name", "a\nb"));
  CHECK_FALSE(with("name", "\xff\xfe"));
  CHECK(with("name", "kn\xc3\xb6tchen"));
  CHECK(with("build", ""));
  CHECK_FALSE(with("round_ms", std::numeric_limits<std::uint64_t>::max()));
  Json changed = good;
  changed["blob"] = Json::binary(std::vector<std::uint8_t>(peer::kMaxBlobBytes + 1));
  CHECK_FALSE(request_ok(changed));
  changed = good;
  changed["v"] = 0;
  CHECK_FALSE(request_ok(changed));
  changed = good;
  changed["type"] = "meet_queen";
  CHECK_FALSE(request_ok(changed));
}

TEST_CASE("clean text is valid UTF-8 without controls") {
  for (const char* clean : {"", "node-a", "kn\xc3\xb6tchen", "\xe2\x82\xac", "\xf0\x9f\x90\x9f"}) {
    CHECK(peer::is_clean_text(clean));
  }
  for (const char* unclean :
       {"tab\t", "del\x7f", "c1\xc2\x85", "lone\x80", "cut\xc3", "cut\xe2\x82", "overlong\xc0\xaf",
        "overlong\xe0\x80\xaf", "overlong\xf0\x80\x80\xaf", "surrogate\xed\xa0\x80",
        "beyond\xf4\x90\x80\x80", "beyond\xf5\x80\x80\x80"}) {
    INFO(unclean);
    CHECK_FALSE(peer::is_clean_text(unclean));
  }
}

TEST_CASE("a witness message that is short, mistyped or crowded is refused") {
  const Json good = parsed(peer::encode(samples::witness()));
  REQUIRE(witness_ok(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    INFO(i);
    Json broken = good;
    broken[i] = 1.5;
    CHECK_FALSE(witness_ok(broken));
    broken = good;
    broken.erase(i);
    if (i == kEdges) CHECK_FALSE(witness_ok(broken));  // what follows was appended later
  }
  Json edge = good;
  for (std::size_t i = 0; i < good[kEdges][0].size(); ++i) {
    INFO(i);
    edge = good;
    edge[kEdges][0][i] = "x";
    CHECK_FALSE(witness_ok(edge));
  }
  CHECK_FALSE(witness_ok(parsed(peer::encode(samples::widest_witness(25)))));
  CHECK_FALSE(witness_ok(Json::object()));
}

TEST_CASE("a rank outside of the members is refused") {
  Json fixed = parsed(peer::encode(all_replies().at("group_fixed")));
  fixed["rank"] = 2;
  CHECK_FALSE(peer::decode_reply(peer::to_cbor(fixed)));
}

TEST_CASE("long sentences are cut and made printable") {
  const std::string ugly = "no\x1b[31m \xc3\xb6 " + std::string(2000, 'y');
  const auto reply = samples::reply(peer::Refusal{peer::RefusalReason::timeout, ugly});
  const auto text = std::get<peer::Refusal>(peer::decode_reply(peer::encode(reply))->body).text;
  CHECK(text.size() == peer::kMaxTextBytes);
  CHECK(text.substr(0, 10) == "no?[31m ??");
}

TEST_CASE("nesting, absurd lengths, trailing and truncated bytes are errors, not crashes") {
  const std::string deep(60'000, '\x81');  // an array in an array in ...
  CHECK_FALSE(peer::decode_request(deep));
  CHECK_FALSE(peer::decode_witness(deep));
  CHECK_FALSE(peer::decode_reply(std::string("\x9b\xff\xff\xff\xff\xff\xff\xff\xff", 9)));
  CHECK_FALSE(peer::decode_reply(std::string("\xbb\x7f\xff\xff\xff\xff\xff\xff\xff", 9)));
  CHECK_FALSE(peer::decode_reply(std::string("\x5b\x7f\xff\xff\xff\xff\xff\xff\xff", 9)));
  CHECK_FALSE(peer::decode_request(""));
  const std::string good = peer::encode(all_requests().at("witness"));
  CHECK_FALSE(peer::decode_request(good + '\0'));
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(peer::decode_request(good.substr(0, size)));
  }
}
