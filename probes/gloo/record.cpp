// SPDX-License-Identifier: Apache-2.0
//
// Envelope: magic "cwr1", build hash u64, record hash u64, the record. Record of a pair-listener
// build: the addresses of the pairs towards each other member, one after the other. Record of a
// device-listener build: host name (u64 length, bytes), address (u64 length, bytes), then one i64
// per member. An address starts with a sockaddr_storage.
#include "probes/gloo/record.h"

#include <netinet/in.h>

#include <cstring>

#include "probes/gloo/build_id.h"

namespace collwatch::gloo_probe {
namespace {

using wire::Blob;

constexpr char kMagic[4] = {'c', 'w', 'r', '1'};
constexpr std::size_t kEnvelopeBytes = sizeof(kMagic) + 2 * sizeof(std::uint64_t);
constexpr std::uint64_t kMaxHostName = 256;

std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::uint64_t read_u64(const Blob& from, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, from.data() + at, sizeof(value));
  return value;
}

void append_u64(Blob& to, std::uint64_t value) {
  const auto* bytes = reinterpret_cast<const char*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof(value));
}

bool is_internet(const char* address) {
  sa_family_t family = 0;
  std::memcpy(&family, address + offsetof(sockaddr_storage, ss_family), sizeof(family));
  return family == AF_INET || family == AF_INET6;
}

/// Where the address starts in a device-listener record, if it has the right form up to there.
std::optional<std::size_t> address_offset(const Blob& record) {
  if (record.size() < sizeof(std::uint64_t)) return std::nullopt;
  const std::uint64_t host = read_u64(record, 0);
  if (host > kMaxHostName) return std::nullopt;
  const std::size_t length_at = sizeof(std::uint64_t) + host;
  const std::size_t address_at = length_at + sizeof(std::uint64_t);
  if (record.size() < address_at + pair_address_bytes()) return std::nullopt;
  if (read_u64(record, length_at) != pair_address_bytes()) return std::nullopt;
  if (!is_internet(record.data() + address_at)) return std::nullopt;
  return address_at;
}

bool well_formed(const Blob& record, int size) {
  if constexpr (kDeviceListener) {
    const auto at = address_offset(record);
    return at && record.size() == *at + pair_address_bytes() +
                                      static_cast<std::size_t>(size) * sizeof(std::int64_t);
  }
  const std::size_t step = pair_address_bytes();
  if (record.size() != static_cast<std::size_t>(size - 1) * step) return false;
  for (std::size_t at = 0; at < record.size(); at += step) {
    if (!is_internet(record.data() + at)) return false;
  }
  return true;
}

tl::unexpected<Failure> mismatch(const char* text) {
  return tl::unexpected<Failure>(Failure{model::Outcome::mismatch, wire::Half::none, text});
}

}  // namespace

Blob wrap_record(const Blob& record, std::string_view build) {
  Blob blob(kMagic, kMagic + sizeof(kMagic));
  append_u64(blob, fnv1a(build));
  append_u64(blob, fnv1a({record.data(), record.size()}));
  blob.insert(blob.end(), record.begin(), record.end());
  return blob;
}

tl::expected<Blob, Failure> unwrap_record(const Blob& blob, std::string_view build, int size) {
  if (blob.size() < kEnvelopeBytes || std::memcmp(blob.data(), kMagic, sizeof(kMagic)) != 0) {
    return mismatch("the peer's address is not one that a Gloo worker made");
  }
  if (read_u64(blob, sizeof(kMagic)) != fnv1a(build)) {
    return mismatch("the peer's Gloo is another build, which cannot share a context with this one");
  }
  Blob record(blob.begin() + kEnvelopeBytes, blob.end());
  if (read_u64(blob, sizeof(kMagic) + sizeof(std::uint64_t)) !=
      fnv1a({record.data(), record.size()})) {
    return mismatch("the peer's address was damaged on the way");
  }
  if (!well_formed(record, size)) {
    return mismatch("the peer's address does not belong to a context of this size");
  }
  return record;
}

std::optional<sockaddr_storage> listener_of(const Blob& record) {
  if (!kDeviceListener) return std::nullopt;
  const auto at = address_offset(record);
  if (!at) return std::nullopt;
  sockaddr_storage address{};
  std::memcpy(&address, record.data() + *at, sizeof(address));
  return address;
}

bool dials(const sockaddr_storage& own, const sockaddr_storage& peer) {
  if (own.ss_family != peer.ss_family) return false;
  const auto later = [](const auto& a, const auto& b, std::uint16_t port_a, std::uint16_t port_b) {
    const int order = std::memcmp(&a, &b, sizeof(a));
    return order != 0 ? order > 0 : port_a > port_b;  // ports compared as they lie in memory
  };
  if (own.ss_family == AF_INET) {
    const auto& a = reinterpret_cast<const sockaddr_in&>(own);
    const auto& b = reinterpret_cast<const sockaddr_in&>(peer);
    return later(a.sin_addr, b.sin_addr, a.sin_port, b.sin_port);
  }
  const auto& a = reinterpret_cast<const sockaddr_in6&>(own);
  const auto& b = reinterpret_cast<const sockaddr_in6&>(peer);
  return later(a.sin6_addr, b.sin6_addr, a.sin6_port, b.sin6_port);
}

}  // namespace collwatch::gloo_probe
