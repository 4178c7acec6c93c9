// SPDX-License-Identifier: Apache-2.0
//
// A payload read back is the payload sent, one flipped bit anywhere is corruption, and intact bytes
// of somebody else, another round or another size are a mismatch.
#include "probes/gloo/payload.h"

#include <vector>

#include "tests/support/catch.h"

using namespace collwatch::gloo_probe;
using collwatch::model::Outcome;

namespace {

const std::uint64_t kSeal = make_seal("context-1", "node-a");

std::vector<char> payload_of(std::size_t size, const Payload& payload, std::uint64_t seal = kSeal) {
  std::vector<char> bytes(size);
  fill_payload(bytes, payload, seal);
  return bytes;
}

}  // namespace

TEST_CASE("a payload comes back as it was, in every size of the rotation") {
  for (const std::size_t size : {64, 1025, 8193, 65536, 1048576}) {
    const auto bytes = payload_of(size, {PayloadKind::large, 41, 8193});
    const auto read = read_payload(bytes, kSeal);
    REQUIRE(read);
    CHECK(read->kind == PayloadKind::large);
    CHECK(read->round == 41);
    CHECK(read->large_bytes == 8193);
  }
}

TEST_CASE("a flipped bit at any byte is data corruption") {
  const auto good = payload_of(1025, {PayloadKind::large, 41, 1025});
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    const auto read = read_payload(bad, kSeal);
    REQUIRE_FALSE(read);
    CHECK(read.error().outcome == Outcome::data_corruption);
  }
}

TEST_CASE("bytes that moved, were cut or never written are data corruption") {
  auto bytes = payload_of(8193, {PayloadKind::large, 1, 8193});
  std::swap(bytes[100], bytes[108]);
  CHECK(read_payload(bytes, kSeal).error().outcome == Outcome::data_corruption);
  bytes = payload_of(8193, {PayloadKind::large, 1, 8193});
  CHECK(read_payload(std::span(bytes).first(8192), kSeal).error().outcome ==
        Outcome::data_corruption);
  CHECK(read_payload(std::span(bytes).first(10), kSeal).error().outcome ==
        Outcome::data_corruption);
  CHECK(read_payload(std::vector<char>(64), kSeal).error().outcome == Outcome::data_corruption);
}

TEST_CASE("an intact payload of another sender or context is a mismatch, not corruption") {
  const auto bytes = payload_of(64, {PayloadKind::token, 5, 0});
  CHECK(read_payload(bytes, make_seal("context-1", "node-b")).error().outcome == Outcome::mismatch);
  CHECK(read_payload(bytes, make_seal("context-2", "node-a")).error().outcome == Outcome::mismatch);
  CHECK(make_seal("ab", "c") != make_seal("a", "bc"));
}

TEST_CASE("kind, round and announced size must be the expected ones") {
  const Payload reply{PayloadKind::reply, 5, 1025};
  const auto bytes = payload_of(64, reply);
  CHECK(expect_payload(bytes, kSeal, reply));
  for (const Payload& other :
       {Payload{PayloadKind::token, 5, 1025}, Payload{PayloadKind::reply, 4, 1025},
        Payload{PayloadKind::reply, 5, 8193}}) {
    const auto read = expect_payload(bytes, kSeal, other);
    REQUIRE_FALSE(read);
    CHECK(read.error().outcome == Outcome::mismatch);
  }
}

TEST_CASE("patterns differ by sender and by round") {
  const auto tail = [](std::int64_t round, std::uint64_t seal) {
    auto bytes = payload_of(1025, {PayloadKind::large, round, 1025}, seal);
    bytes.erase(bytes.begin(), bytes.begin() + 64);
    return bytes;
  };
  CHECK(tail(1, kSeal) == tail(1, kSeal));
  CHECK(tail(1, kSeal) != tail(2, kSeal));
  CHECK(tail(1, kSeal) != tail(1, make_seal("context-1", "node-b")));
}
