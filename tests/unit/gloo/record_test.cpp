// SPDX-License-Identifier: Apache-2.0
//
// Nothing reaches Gloo that is not a record of the same build and shape.
#include "probes/gloo/record.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "probes/gloo/build_id.h"
#include "tests/support/catch.h"

using namespace collwatch::gloo_probe;
using collwatch::model::Outcome;
using collwatch::wire::Blob;

namespace {

sockaddr_storage v4(const char* ip, std::uint16_t port) {
  sockaddr_storage storage{};
  auto* address = reinterpret_cast<sockaddr_in*>(&storage);
  address->sin_family = AF_INET;
  address->sin_port = htons(port);
  REQUIRE(inet_pton(AF_INET, ip, &address->sin_addr) == 1);
  return storage;
}

Blob address_bytes(const sockaddr_storage& address) {
  Blob bytes(pair_address_bytes());
  std::memcpy(bytes.data(), &address, sizeof(address));
  return bytes;
}

void append_u64(Blob& blob, std::uint64_t value) {
  const auto* bytes = reinterpret_cast<const char*>(&value);
  blob.insert(blob.end(), bytes, bytes + sizeof(value));
}

/// A record as this build's Gloo makes it.
Blob record_for(int size, const sockaddr_storage& address) {
  Blob record;
  const Blob bytes = address_bytes(address);
  if (!kDeviceListener) {
    for (int i = 1; i < size; ++i) record.insert(record.end(), bytes.begin(), bytes.end());
    return record;
  }
  append_u64(record, 4);
  for (const char c : {'h', 'o', 's', 't'}) record.push_back(c);
  append_u64(record, bytes.size());
  record.insert(record.end(), bytes.begin(), bytes.end());
  for (int i = 0; i < size; ++i) append_u64(record, static_cast<std::uint64_t>(i));
  return record;
}

}  // namespace

TEST_CASE("a record survives its envelope") {
  for (const int size : {2, 3, 8}) {
    const Blob record = record_for(size, v4("10.0.0.1", 4711));
    const auto back = unwrap_record(wrap_record(record, "build-1"), "build-1", size);
    REQUIRE(back);
    CHECK(*back == record);
  }
}

TEST_CASE("another build, damage, another shape: a mismatch each") {
  const Blob record = record_for(3, v4("10.0.0.1", 4711));
  const Blob good = wrap_record(record, "build-1");
  const auto refused = [](const Blob& blob, int size, const char* why) {
    const auto result = unwrap_record(blob, "build-1", size);
    REQUIRE_FALSE(result);
    CHECK(result.error().outcome == Outcome::mismatch);
    CHECK_THAT(result.error().text, Catch::Matchers::ContainsSubstring(why));
  };
  refused(wrap_record(record, "build-2"), 3, "another build");
  refused(Blob{}, 3, "not one that a Gloo worker made");
  refused(Blob(good.begin() + 1, good.end()), 3, "not one that a Gloo worker made");
  refused(good, 4, "does not belong");
  refused(wrap_record(Blob{}, "build-1"), 3, "does not belong");
  refused(wrap_record(Blob(record.size(), '\xff'), "build-1"), 3, "does not belong");
  for (std::size_t at = 12; at < good.size(); at += 7) {
    Blob bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    refused(bad, 3, "damaged");
  }
  for (std::size_t length = 0; length < record.size(); ++length) {
    const Blob cut(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK_FALSE(unwrap_record(wrap_record(cut, "build-1"), "build-1", 3));
  }
}

TEST_CASE("the listener of a record is known exactly where a device listens for all its pairs") {
  const auto listener = listener_of(record_for(2, v4("10.0.0.1", 4711)));
  REQUIRE(listener.has_value() == kDeviceListener);
  if (listener) CHECK(reinterpret_cast<const sockaddr_in&>(*listener).sin_port == htons(4711));
}

TEST_CASE("the larger address dials, then the larger port as it lies in memory") {
  CHECK(dials(v4("10.0.0.2", 1), v4("10.0.0.1", 9)));
  CHECK_FALSE(dials(v4("10.0.0.1", 9), v4("10.0.0.2", 1)));
  CHECK(dials(v4("127.0.0.1", 1), v4("10.0.0.1", 1)));
  CHECK(dials(v4("10.0.0.1", 0x0002), v4("10.0.0.1", 0x0100)));
  CHECK_FALSE(dials(v4("10.0.0.1", 7), v4("10.0.0.1", 7)));
}
