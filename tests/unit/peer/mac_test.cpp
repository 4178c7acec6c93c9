// SPDX-License-Identifier: Apache-2.0
//
// HMAC-SHA256 against the published vectors (RFC 4231), and what our MACs bind.
#include "daemon/peer/mac.h"

#include <set>

#include "daemon/peer/framing.h"
#include "tests/support/catch.h"

using namespace collwatch::peer;

TEST_CASE("HMAC-SHA256 gives the published results") {
  CHECK(to_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(to_hex(hmac_sha256(std::string(131, '\xaa'),
                           "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(to_hex(hmac_sha256("", "")) ==
        "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  CHECK(hmac_sha256(std::string_view{}, std::string_view{}) == hmac_sha256("", ""));
}

TEST_CASE("moving a byte from one part to the next changes the MAC") {
  CHECK(authenticate("t", {"ab", "c"}) != authenticate("t", {"a", "bc"}));
  CHECK(authenticate("t", {"ab"}) != authenticate("t", {"ab", ""}));
  CHECK(authenticate("t", {"ab"}) == hmac_sha256("t", std::string("\0\0\0\2", 4) + "ab"));
}

TEST_CASE("each MAC depends on the token, its purpose, both nonces and the body") {
  const std::set<std::string> macs{request_mac("t", "n1", "b"),     request_mac("u", "n1", "b"),
                                   request_mac("t", "n2", "b"),     request_mac("t", "n1", "c"),
                                   reply_mac("t", "n1", "c1", "b"), reply_mac("t", "n1", "c2", "b"),
                                   reply_mac("t", "n2", "c1", "b"), reply_mac("t", "n1", "c1", "c"),
                                   datagram_mac("t", "b"),          datagram_mac("u", "b"),
                                   datagram_mac("t", "c")};
  CHECK(macs.size() == 11);
  CHECK(datagram_mac("t", "b").size() == kShortMacBytes);
}

TEST_CASE("MACs are compared whole") {
  CHECK(same_mac("abc", "abc"));
  CHECK_FALSE(same_mac("abc", "abd"));
  CHECK_FALSE(same_mac("abc", "ab"));
  CHECK_FALSE(same_mac("", "a"));
}

TEST_CASE("nonces do not repeat") {
  std::set<std::string> nonces;
  for (int i = 0; i < 1000; ++i) nonces.insert(random_bytes(kNonceBytes));
  CHECK(nonces.size() == 1000);
  CHECK(nonces.begin()->size() == kNonceBytes);
}

TEST_CASE("a frame comes together from any pieces") {
  const std::string frame = make_frame(std::string(kMacBytes, 'm'), "body");
  for (std::size_t piece = 1; piece <= frame.size(); ++piece) {
    FrameReader reader(100);
    for (std::size_t at = 0; at < frame.size(); at += piece) {
      CHECK(reader.state() == FrameReader::State::incomplete);
      CHECK(reader.wanted() > 0);
      reader.append(frame.substr(at, piece));
    }
    REQUIRE(reader.state() == FrameReader::State::complete);
    const Frame got = reader.take();
    CHECK(got.mac == std::string(kMacBytes, 'm'));
    CHECK(got.body == "body");
    CHECK(reader.state() == FrameReader::State::incomplete);
  }
}

TEST_CASE("a frame's length is refused as soon as it is seen") {
  const auto state_after = [](const std::string& bytes) { return FrameReader(100).append(bytes); };
  CHECK(state_after(big_endian(100)) == FrameReader::State::incomplete);
  CHECK(state_after(big_endian(101)) == FrameReader::State::bad);
  CHECK(state_after(big_endian(0)) == FrameReader::State::bad);
  CHECK(state_after("GET ") == FrameReader::State::bad);
  CHECK(state_after(make_frame(std::string(kMacBytes, 'm'), "body") + "x") ==
        FrameReader::State::bad);
}

TEST_CASE("a challenge carries its nonce, and nothing else is one") {
  const std::string nonce = random_bytes(kNonceBytes);
  FrameReader reader(100);
  REQUIRE(reader.append(make_challenge(nonce)) == FrameReader::State::complete);
  CHECK(read_challenge(reader.take().body) == nonce);
  CHECK_FALSE(read_challenge(""));
  CHECK_FALSE(read_challenge("\x01"));
  FrameReader shorter(100);
  shorter.append(make_challenge("short"));
  CHECK_FALSE(read_challenge(shorter.take().body));
}
