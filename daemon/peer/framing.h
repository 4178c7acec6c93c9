// SPDX-License-Identifier: Apache-2.0
//
// How bytes become frames on a peer connection, and what each frame's MAC covers; shared by server
// and client so that the two cannot disagree. Pure.
//
//   frame      = length (4 bytes, big-endian, of body) · mac (32 bytes) · body (CBOR)
//   challenge  = frame{mac: zeros, body: {"v": 1, "nonce": bytes[16]}}   nothing in it needs proof
//   request    = frame{mac over "collwatch request", server nonce, body}
//   reply      = frame{mac over "collwatch reply", server nonce, client nonce, body}
//   datagram   = body · first 16 bytes of mac over "collwatch witness", body
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/peer/mac.h"
#include "probes/model/result.h"

namespace collwatch::peer {

std::string big_endian(std::uint32_t number);

std::string make_frame(std::string_view mac, std::string_view body);
std::string make_challenge(std::string_view nonce);
/// The nonce of a challenge's body.
model::Result<std::string> read_challenge(std::string_view body);

std::string request_mac(std::string_view token, std::string_view server_nonce,
                        std::string_view body);
std::string reply_mac(std::string_view token, std::string_view server_nonce,
                      std::string_view client_nonce, std::string_view body);
std::string datagram_mac(std::string_view token, std::string_view body);

struct Frame {
  std::string mac;
  std::string body;
};

/// Collects bytes until one frame is there. Refuses a bad length as soon as it is seen, so that
/// nobody can make us keep more than the limit.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_body) : max_body_(max_body) {}

  enum class State { incomplete, complete, bad };
  State append(std::string_view bytes);
  State state() const { return state_; }
  /// How many more bytes are welcome now; never 0 while incomplete.
  std::size_t wanted() const;
  /// The frame; leaves the reader empty for the next one. Only when complete.
  Frame take();

 private:
  std::size_t max_body_;
  State state_ = State::incomplete;
  std::optional<std::size_t> body_bytes_;
  std::string buffer_;
};

}  // namespace collwatch::peer
