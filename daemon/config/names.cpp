// SPDX-License-Identifier: Apache-2.0
//
// The other half of units.h: endpoints, node names, label values, and what kind of host a host is.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "daemon/config/tree.h"
#include "daemon/config/units.h"

namespace collwatch::config {
namespace {

constexpr std::size_t kLongestName = 253;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

tl::unexpected<model::Error> bad(const std::string& why) {
  return model::fail(model::ErrorCode::invalid_argument, why);
}

model::Result<std::uint16_t> parse_port(const std::string& text) {
  const auto port = parse_integer(text, 1, 65535);
  if (!port) return bad("port " + port.error().text);
  return static_cast<std::uint16_t>(*port);
}

}  // namespace

model::Result<Endpoint> parse_endpoint(const std::string& text, std::uint16_t default_port) {
  std::string host;
  std::string rest;  // after the host: empty or ":port"
  const bool bracketed = !text.empty() && text.front() == '[';
  if (bracketed) {
    const std::size_t close = text.find(']');
    if (close == std::string::npos) return bad("'" + shown(text) + "' has no closing bracket");
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    if (!is_numeric_ipv6(host)) return bad("'" + shown(host) + "' is not an IPv6 address");
  } else {
    if (std::count(text.begin(), text.end(), ':') > 1) {
      return bad("'" + shown(text) + "' is ambiguous: put an IPv6 address in brackets");
    }
    const std::size_t colon = std::min(text.find(':'), text.size());
    host = text.substr(0, colon);
    rest = text.substr(colon);
    if (!is_node_name(host)) return bad("'" + shown(host) + "' is not a host name or address");
  }
  if (rest.empty()) {
    if (default_port == 0) return bad("'" + shown(text) + "' has no port");
    return Endpoint{host, default_port};
  }
  if (rest.front() != ':') return bad("'" + shown(text) + "' is not host:port");
  const auto port = parse_port(rest.substr(1));
  if (!port) return model::fail(port.error());
  return Endpoint{host, *port};
}

std::string format_endpoint(const Endpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

bool is_node_name(const std::string& text) {
  return !text.empty() && text.size() <= kLongestName && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_label_value(const std::string& text) {
  constexpr std::size_t kLongestLabel = 64;
  return text.size() <= kLongestLabel && std::all_of(text.begin(), text.end(), [](char c) {
           return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != ',';
         });
}

bool is_numeric_ipv4(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool is_numeric_ipv6(const std::string& host) {
  // A zone ("fe80::1%eth0") is the resolver's business; the address before it must be right.
  const std::size_t percent = host.find('%');
  if (percent != std::string::npos && !is_node_name(host.substr(percent + 1))) return false;
  in6_addr address{};
  return inet_pton(AF_INET6, host.substr(0, percent).c_str(), &address) == 1;
}

bool is_loopback_host(const std::string& host) {
  return host == "localhost" || host == "::1" ||
         (is_numeric_ipv4(host) && std::string_view(host).substr(0, 4) == "127.");
}

bool is_any_host(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

}  // namespace collwatch::config
