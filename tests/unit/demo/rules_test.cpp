// SPDX-License-Identifier: Apache-2.0
//
// Which packets each fault drops, and where: rules as data.
#include "daemon/demo/rules.h"

#include "daemon/demo/network.h"
#include "tests/support/catch.h"
#include "tests/unit/demo/has.h"

using namespace collwatch::demo;

namespace {

const std::vector<std::string> kAddresses = {"10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13"};

/// "2: INPUT -i eth0 -j DROP", one line a rule.
std::string rules(const std::string& spec) {
  std::string all;
  for (const Rule& rule : rules_of(*parse_fault(spec, 4), kAddresses)) {
    all += std::to_string(rule.node) + ":";
    for (const std::string& word : rule.words) all += " " + word;
    all += "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("a node, a link and a direction are cut where they are") {
  CHECK(rules("drop:n2") == "2: INPUT -i eth0 -j DROP\n2: OUTPUT -o eth0 -j DROP\n");
  CHECK(rules("egress:n2") == "2: OUTPUT -o eth0 -j DROP\n");
  CHECK(rules("ingress:n2") == "2: INPUT -i eth0 -j DROP\n");
  CHECK(rules("drop:n1>n2") == "2: INPUT -s 10.0.0.11 -j DROP\n");
  CHECK(rules("drop:n1-n2") == "1: INPUT -s 10.0.0.12 -j DROP\n1: OUTPUT -d 10.0.0.12 -j DROP\n");
}

TEST_CASE("of a partition each side drops what comes from the other") {
  CHECK(rules("partition:n0,n1,n3/n2") ==
        "2: INPUT -s 10.0.0.10,10.0.0.11,10.0.0.13 -j DROP\n"
        "0: INPUT -s 10.0.0.12 -j DROP\n"
        "1: INPUT -s 10.0.0.12 -j DROP\n"
        "3: INPUT -s 10.0.0.12 -j DROP\n");
}

TEST_CASE("what is to vanish unseen is dropped where it arrives, both ways") {
  const std::string large = "-m length --length 1001:65535 -j DROP\n";
  CHECK(rules("mtu:n1") == "0: INPUT -i eth0 -s 10.0.0.11 " + large + "1: INPUT -i eth0 " + large +
                               "2: INPUT -i eth0 -s 10.0.0.11 " + large +
                               "3: INPUT -i eth0 -s 10.0.0.11 " + large);
  CHECK(has(rules("loss:n1=2.5%"),
            "1: INPUT -i eth0 -m statistic --mode random --probability 0.025 -j DROP\n"));
}

TEST_CASE("what is no matter of packets has no rules") {
  for (const char* spec : {"kill:n1", "slow:n1", "linkdown:n1", "iface:n1", "scale=8"}) {
    CHECK(rules(spec).empty());
  }
}

TEST_CASE("a network is an IPv4 /24 or an IPv6 /64") {
  CHECK(Network().host(12) == "10.83.0.12");
  const auto v4 = Network::parse("192.168.83.0/24");
  REQUIRE(v4);
  CHECK(v4->host(1) == "192.168.83.1");
  CHECK(v4->length() == 24);
  CHECK_FALSE(v4->ipv6());
  const auto v6 = Network::parse("fd83::/64");
  REQUIRE(v6);
  CHECK(v6->host(12) == "fd83::c");
  CHECK(v6->length() == 64);
  CHECK(endpoint(v6->host(12), 9782) == "[fd83::c]:9782");
  CHECK(endpoint("10.83.0.12", 1) == "10.83.0.12:1");
}

TEST_CASE("a network that cannot be used is quoted, with the reason") {
  const auto complaint = [](const std::string& text) {
    const auto network = Network::parse(text);
    return network ? "taken" : network.error().text;
  };
  CHECK(has(complaint("10.83.0.0"), "network '10.83.0.0': write 10.83.0.0/24 or fd83::/64"));
  CHECK(has(complaint("10.0.0.0/8"), "other lengths are not offered"));
  CHECK(has(complaint("fd83::/24"), "other lengths are not offered"));
  CHECK(has(complaint("10.83.0/24"), "that is no address"));
  CHECK(has(complaint("x::/64"), "that is no address"));
  CHECK(has(complaint("10.83.0.1/24"), "goes on behind /24"));
  CHECK(has(complaint("fd83::1/64"), "goes on behind /64"));
  for (const char* special : {"127.0.0.0/24", "224.0.0.0/24", "::/64", "fe80::/64", "ff02::/64"}) {
    CHECK(has(complaint(special), "cannot talk"));
  }
}
