// SPDX-License-Identifier: Apache-2.0
//
// Addresses as text, mapped and back.
#include "daemon/peer/address.h"

#include "daemon/peer/socket.h"
#include "tests/support/catch.h"

using namespace collwatch;

namespace {

peer::Address numeric(const char* host, std::uint16_t port = 9782) {
  return peer::resolve(config::Endpoint{host, port}, AF_UNSPEC).value();
}

}  // namespace

TEST_CASE("addresses are spelled with brackets only where needed") {
  CHECK(numeric("10.0.0.1").text() == "10.0.0.1:9782");
  CHECK(numeric("fd00::1").text() == "[fd00::1]:9782");
  CHECK(numeric("fd00::1").host() == "fd00::1");
  CHECK(numeric("10.0.0.1").port() == 9782);
  CHECK_FALSE(peer::Address{}.valid());
  CHECK(peer::Address{}.host().empty());
}

TEST_CASE("IPv4 in IPv6 is shown as IPv4 and maps both ways") {
  const peer::Address mapped = numeric("::ffff:10.0.0.1");
  CHECK(mapped.family() == AF_INET6);
  CHECK(mapped.text() == "10.0.0.1:9782");
  CHECK(peer::unmapped(mapped).family() == AF_INET);
  const peer::Address plain = numeric("10.0.0.1");
  CHECK(peer::for_family(plain, AF_INET6).family() == AF_INET6);
  CHECK(peer::for_family(plain, AF_INET6).text() == plain.text());
  CHECK(peer::for_family(plain, AF_INET).family() == AF_INET);
  CHECK(peer::for_family(numeric("fd00::1"), AF_INET6).text() == "[fd00::1]:9782");
}

TEST_CASE("loopback is known in every spelling") {
  CHECK(numeric("127.0.0.1").is_loopback());
  CHECK(numeric("127.9.9.9").is_loopback());
  CHECK(numeric("::1").is_loopback());
  CHECK(numeric("::ffff:127.0.0.1").is_loopback());
  CHECK_FALSE(numeric("10.0.0.1").is_loopback());
  CHECK_FALSE(numeric("fd00::1").is_loopback());
}

TEST_CASE("a host that does not resolve is an error that says which") {
  const auto nobody = peer::resolve(config::Endpoint{"::1", 9782}, AF_INET);  // asks no DNS
  REQUIRE_FALSE(nobody);
  CHECK(nobody.error().code == model::ErrorCode::not_found);
  CHECK(nobody.error().text.rfind("cannot resolve '::1': ", 0) == 0);
}
