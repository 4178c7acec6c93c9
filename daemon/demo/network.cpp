// SPDX-License-Identifier: Apache-2.0
//
// The C library reads and writes the addresses; only their last byte is ours.
#include "daemon/demo/network.h"

#include <arpa/inet.h>

#include <algorithm>

namespace collwatch::demo {
namespace {

using model::Result;

tl::unexpected<model::Error> wrong(const std::string& text, const std::string& what) {
  return model::fail(model::ErrorCode::invalid_argument, "network '" + text + "': " + what);
}

bool is_ipv6(const std::string& address) {
  return address.find(':') != std::string::npos;
}

/// Addresses that no two hosts can talk over: this host, everybody, one link.
bool is_special(int family, const std::array<unsigned char, 16>& bytes) {
  if (family == AF_INET) return bytes[0] == 0 || bytes[0] == 127 || bytes[0] >= 224;
  const bool link_local = bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
  return bytes[0] == 0 || bytes[0] == 0xff || link_local;
}

}  // namespace

Network::Network() : bytes_{10, 83, 0, 0} {}

Result<Network> Network::parse(const std::string& text) {
  Network network;
  network.family_ = is_ipv6(text) ? AF_INET6 : AF_INET;
  network.bytes_ = {};
  const std::string tail = "/" + std::to_string(network.length());
  const std::size_t slash = std::min(text.find('/'), text.size());
  if (text.substr(slash) != tail) {
    return wrong(text, "write 10.83.0.0/24 or fd83::/64; other lengths are not offered");
  }
  if (inet_pton(network.family_, text.substr(0, slash).c_str(), network.bytes_.data()) != 1) {
    return wrong(text, "that is no address");
  }
  auto* const end = network.bytes_.begin() + (network.ipv6() ? 16 : 4);
  if (std::any_of(network.bytes_.begin() + network.length() / 8, end,
                  [](unsigned char byte) { return byte != 0; })) {
    return wrong(text, "the address goes on behind " + tail);
  }
  if (is_special(network.family_, network.bytes_)) {
    return wrong(text, "hosts cannot talk over these addresses");
  }
  return network;
}

std::string Network::host(int number) const {
  auto bytes = bytes_;
  bytes[ipv6() ? 15 : 3] = static_cast<unsigned char>(number);
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family_, bytes.data(), text.data(), text.size());
  return text.data();
}

std::string any_address(const std::string& address) {
  return is_ipv6(address) ? "::" : "0.0.0.0";
}

std::string endpoint(const std::string& address, int port) {
  return (is_ipv6(address) ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace collwatch::demo
