// SPDX-License-Identifier: Apache-2.0
//
// The shared token's only use: HMAC-SHA256 over everything that crosses the peer port, compared in
// constant time, and fresh random nonces. mac.cpp is the one file that knows libcrypto. Pure but
// for the kernel's random numbers; any thread.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace collwatch::peer {

inline constexpr std::size_t kMacBytes = 32;
inline constexpr std::size_t kShortMacBytes = 16;  ///< in datagrams: the first half
inline constexpr std::size_t kNonceBytes = 16;

/// Plain HMAC-SHA256, 32 raw bytes. An empty key is allowed (peers.insecure).
std::string hmac_sha256(std::string_view key, std::string_view data);

/// HMAC over several parts, each preceded by its length (4 bytes, big-endian), so that no two lists
/// of parts give the same input. The first part names what is being authenticated.
std::string authenticate(std::string_view token, std::initializer_list<std::string_view> parts);

/// Constant time in the contents; different lengths are different.
bool same_mac(std::string_view a, std::string_view b);

/// From the kernel; never fails once the machine has booted.
std::string random_bytes(std::size_t count);
std::string to_hex(std::string_view bytes);

}  // namespace collwatch::peer
