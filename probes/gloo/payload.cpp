// SPDX-License-Identifier: Apache-2.0
//
// Header layout (little endian, 40 bytes): magic u32, version u16, kind u16, round i64, large_bytes
// u32, total bytes u32, seal u64, checksum u64; the pattern follows. The checksum
// covers the whole payload with its own field as zero.
#include "probes/gloo/payload.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "probes/model/result.h"

namespace collwatch::gloo_probe {
namespace {

using model::Outcome;

static_assert(std::endian::native == std::endian::little,
              "the header is written in the machine's own order");

constexpr std::uint32_t kMagic = 0x31677763;  // "cwg1"

struct Header {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kPayloadVersion;
  std::uint16_t kind = 0;
  std::int64_t round = 0;
  std::uint32_t large_bytes = 0;
  std::uint32_t total_bytes = 0;
  std::uint64_t seal = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) == 40 && sizeof(Header) < kSmallBytes);

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;

constexpr std::uint64_t mix(std::uint64_t x) {  // the splitmix64 finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Order and position dependent, eight bytes at a time.
std::uint64_t hash_bytes(std::uint64_t state, std::span<const char> bytes) {
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t step = std::min(bytes.size(), sizeof(word));
    std::memcpy(&word, bytes.data(), step);
    state = mix(state + word) + kStep * step;
    bytes = bytes.subspan(step);
  }
  return state;
}

std::uint64_t checksum_of(Header header, std::span<const char> pattern) {
  header.checksum = 0;
  const auto* bytes = reinterpret_cast<const char*>(&header);
  return hash_bytes(hash_bytes(1, {bytes, sizeof(header)}), pattern);
}

std::uint64_t seed_of(const Header& header) {
  return mix(header.seal ^ mix(static_cast<std::uint64_t>(header.round)) ^
             mix(std::uint64_t{header.kind} << 32 | header.total_bytes));
}

void fill_pattern(std::span<char> out, std::uint64_t seed) {
  for (std::uint64_t i = 0; !out.empty(); ++i) {
    const std::uint64_t word = mix(seed + i * kStep);
    const std::size_t step = std::min(out.size(), sizeof(word));
    std::memcpy(out.data(), &word, step);
    out = out.subspan(step);
  }
}

tl::unexpected<Failure> corrupt(std::span<const char> in, const std::string& what) {
  return tl::unexpected<Failure>(
      Failure{Outcome::data_corruption, wire::Half::none,
              "received " + std::to_string(in.size()) + " bytes that were not sent: " + what});
}

tl::unexpected<Failure> foreign(const std::string& what) {
  return tl::unexpected<Failure>(
      Failure{Outcome::mismatch, wire::Half::none, "received an intact payload, but " + what});
}

}  // namespace

std::uint64_t make_seal(std::string_view context_id, std::string_view sender) {
  const std::uint64_t context =
      hash_bytes(context_id.size(), {context_id.data(), context_id.size()});
  return hash_bytes(context, {sender.data(), sender.size()});
}

void fill_payload(std::span<char> out, const Payload& payload, std::uint64_t seal) {
  COLLWATCH_ASSERT(out.size() >= kSmallBytes && out.size() <= kMaxLargeBytes);
  Header header;
  header.kind = static_cast<std::uint16_t>(payload.kind);
  header.round = payload.round;
  header.large_bytes = payload.large_bytes;
  header.total_bytes = static_cast<std::uint32_t>(out.size());
  header.seal = seal;
  const std::span<char> pattern = out.subspan(sizeof(header));
  fill_pattern(pattern, seed_of(header));
  header.checksum = checksum_of(header, pattern);
  std::memcpy(out.data(), &header, sizeof(header));
}

tl::expected<Payload, Failure> read_payload(std::span<const char> in, std::uint64_t seal) {
  Header header;
  if (in.size() < sizeof(header)) return corrupt(in, "no room for a header");
  std::memcpy(&header, in.data(), sizeof(header));
  const std::span<const char> pattern = in.subspan(sizeof(header));
  if (header.magic != kMagic) return corrupt(in, "wrong magic");
  if (header.checksum != checksum_of(header, pattern)) return corrupt(in, "wrong checksum");

  if (header.version != kPayloadVersion) {
    return foreign("of payload version " + std::to_string(header.version) + ", not " +
                   std::to_string(kPayloadVersion));
  }
  if (header.seal != seal) return foreign("of another sender or another context");
  if (header.total_bytes != in.size()) return foreign("of another size");
  const std::uint64_t seed = seed_of(header);
  std::array<char, 512> expected{};
  for (std::size_t at = 0; at < pattern.size(); at += expected.size()) {
    // One word of the stream belongs to eight bytes, and 512 is a multiple of it.
    const std::size_t size = std::min(expected.size(), pattern.size() - at);
    fill_pattern({expected.data(), size}, seed + at / 8 * kStep);
    if (std::memcmp(pattern.data() + at, expected.data(), size) != 0) {
      return corrupt(in, "wrong pattern");
    }
  }
  return Payload{static_cast<PayloadKind>(header.kind), header.round, header.large_bytes};
}

tl::expected<Payload, Failure> expect_payload(std::span<const char> in, std::uint64_t seal,
                                              const Payload& expected) {
  auto got = read_payload(in, seal);
  if (!got) return got;
  if (got->kind != expected.kind || got->round != expected.round ||
      got->large_bytes != expected.large_bytes) {
    return foreign("it is kind " + std::to_string(static_cast<int>(got->kind)) + " of round " +
                   std::to_string(got->round) + " announcing " + std::to_string(got->large_bytes) +
                   " bytes; expected kind " + std::to_string(static_cast<int>(expected.kind)) +
                   " of round " + std::to_string(expected.round) + " announcing " +
                   std::to_string(expected.large_bytes));
  }
  return got;
}

}  // namespace collwatch::gloo_probe
