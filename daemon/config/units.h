// SPDX-License-Identifier: Apache-2.0
//
// Text to quantities and back: durations, sizes, endpoints, names. Each parse error is a sentence
// fragment that fits after a key ("a duration needs a unit: 5ms, 5s, 5m or 5h"). Pure, used by the
// key table, the member list and the printer.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/config/config.h"
#include "probes/model/result.h"

namespace collwatch::config {

/// "500ms", "1s", "5m", "1h"; whole numbers only.
model::Result<Millis> parse_duration(const std::string& text);
/// The shortest exact spelling: 90000 -> "90s", 60000 -> "1m", 1500 -> "1500ms".
std::string format_duration(Millis duration);

/// "4", "4B", "1KiB", "64MiB", "20MB", "1GiB".
model::Result<std::uint64_t> parse_size(const std::string& text);
/// The shortest exact spelling: 67108864 -> "64MiB", 65536 -> "64KiB", 1025 -> "1025".
std::string format_size(std::uint64_t bytes);

/// A whole number between `least` and `most`.
model::Result<std::int64_t> parse_integer(const std::string& text, std::int64_t least,
                                          std::int64_t most);

/// "127.0.0.1:9781", "[::]:9782", "host:9782"; "host" alone takes `default_port` when not 0.
model::Result<Endpoint> parse_endpoint(const std::string& text, std::uint16_t default_port);
std::string format_endpoint(const Endpoint& endpoint);

/// Names of nodes: letters, digits, '.', '_' and '-', beginning with a letter or digit, at most
/// 253. Nothing else, because entities are spelled "a<->b", "a,b" and "rack=r1".
bool is_node_name(const std::string& text);
/// Printable, no quotes, backslashes or commas, at most 64 bytes.
bool is_label_value(const std::string& text);

bool is_numeric_ipv4(const std::string& host);
bool is_numeric_ipv6(const std::string& host);
bool is_loopback_host(const std::string& host);
/// 0.0.0.0 or ::
bool is_any_host(const std::string& host);

}  // namespace collwatch::config
