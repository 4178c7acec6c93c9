// SPDX-License-Identifier: Apache-2.0
//
// Frames, challenges, and the input of every MAC.
#include "daemon/peer/framing.h"

#include "daemon/peer/cbor.h"
#include "daemon/peer/message.h"

namespace collwatch::peer {

namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kHeaderBytes = kLengthBytes + kMacBytes;

std::uint32_t read_big_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char c : bytes.substr(0, kLengthBytes)) {
    number = (number << 8U) | static_cast<unsigned char>(c);
  }
  return number;
}

}  // namespace

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    bytes += static_cast<char>((number >> shift) & 0xffU);
  }
  return bytes;
}

std::string make_frame(std::string_view mac, std::string_view body) {
  COLLWATCH_ASSERT(mac.size() == kMacBytes);
  std::string frame = big_endian(static_cast<std::uint32_t>(body.size()));
  frame += mac;
  frame += body;
  return frame;
}

std::string make_challenge(std::string_view nonce) {
  Json body = Json::object();
  body["v"] = kWireVersion;
  body["nonce"] = Json::binary({nonce.begin(), nonce.end()});
  return make_frame(std::string(kMacBytes, '\0'), to_cbor(body));
}

model::Result<std::string> read_challenge(std::string_view body) {
  const auto parsed = parse_cbor(body);
  if (!parsed) return model::fail(parsed.error());
  Fields fields(*parsed);
  fields.integer<int>(fields.at("v"), 1, kMaxWireVersion);
  const Blob nonce = fields.blob(fields.at("nonce"), kNonceBytes);
  if (nonce.size() != kNonceBytes) fields.refuse("a nonce of 16 bytes");
  if (!fields.ok()) return model::fail(fields.error());
  return std::string(nonce.begin(), nonce.end());
}

std::string request_mac(std::string_view token, std::string_view server_nonce,
                        std::string_view body) {
  return authenticate(token, {"collwatch request", server_nonce, body});
}

std::string reply_mac(std::string_view token, std::string_view server_nonce,
                      std::string_view client_nonce, std::string_view body) {
  return authenticate(token, {"collwatch reply", server_nonce, client_nonce, body});
}

std::string datagram_mac(std::string_view token, std::string_view body) {
  return authenticate(token, {"collwatch witness", body}).substr(0, kShortMacBytes);
}

FrameReader::State FrameReader::append(std::string_view bytes) {
  if (state_ != State::incomplete) return state_ = State::bad;
  buffer_ += bytes;
  if (!body_bytes_ && buffer_.size() >= kLengthBytes) body_bytes_ = read_big_endian(buffer_);
  if (!body_bytes_) return state_;
  if (*body_bytes_ == 0 || *body_bytes_ > max_body_) return state_ = State::bad;
  const std::size_t whole = kHeaderBytes + *body_bytes_;
  if (buffer_.size() == whole) state_ = State::complete;
  if (buffer_.size() > whole) state_ = State::bad;  // nobody pipelines here
  return state_;
}

std::size_t FrameReader::wanted() const {
  const std::size_t whole = kHeaderBytes + body_bytes_.value_or(0);
  return buffer_.size() < whole ? whole - buffer_.size() : 1;
}

Frame FrameReader::take() {
  COLLWATCH_ASSERT(state_ == State::complete);
  Frame frame{buffer_.substr(kLengthBytes, kMacBytes), buffer_.substr(kHeaderBytes)};
  buffer_.clear();
  body_bytes_.reset();
  state_ = State::incomplete;
  return frame;
}

}  // namespace collwatch::peer
