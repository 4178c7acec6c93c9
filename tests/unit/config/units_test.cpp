// SPDX-License-Identifier: Apache-2.0
//
// Quantities, endpoints and names, in and out.
#include "daemon/config/units.h"

#include <limits>

#include "daemon/config/suggest.h"
#include "tests/support/catch.h"

using namespace collwatch::config;
using namespace std::chrono_literals;

TEST_CASE("durations are whole numbers with a unit") {
  CHECK(parse_duration("500ms") == Millis(500));
  CHECK(parse_duration("1s") == Millis(1s));
  CHECK(parse_duration("5m") == Millis(5min));
  CHECK(parse_duration("1h") == Millis(1h));
  CHECK(parse_duration("0s") == Millis(0));
  for (const char* text : {"", "5", "s", "-1s", "1.5s", "1 hour", "1S", "1s ", "0x1s",
                           "9223372036854775807h", "99999999999999999999s"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("durations and sizes are printed in the largest unit that is exact") {
  CHECK(format_duration(1500ms) == "1500ms");
  CHECK(format_duration(90s) == "90s");
  CHECK(format_duration(60s) == "1m");
  CHECK(format_duration(24h) == "24h");
  CHECK(format_duration(0s) == "0s");
  CHECK(format_size(0) == "0");
  CHECK(format_size(1025) == "1025");
  CHECK(format_size(65536) == "64KiB");
  CHECK(format_size(64ULL << 20) == "64MiB");
  CHECK(format_size(3ULL << 30) == "3GiB");
}

TEST_CASE("sizes take binary and decimal units") {
  CHECK(parse_size("4") == 4U);
  CHECK(parse_size("4B") == 4U);
  CHECK(parse_size("1KiB") == 1024U);
  CHECK(parse_size("64MiB") == 64U << 20);
  CHECK(parse_size("20MB") == 20000000U);
  CHECK(parse_size("1 GiB") == 1U << 30);
  for (const char* text : {"", "MiB", "1mib", "1.5MiB", "-4", "1KiB4", "9223372036854775808"}) {
    INFO(text);
    CHECK_FALSE(parse_size(text));
  }
}

TEST_CASE("endpoints keep IPv6 apart from the port") {
  CHECK(parse_endpoint("127.0.0.1:9781", 0) == Endpoint{"127.0.0.1", 9781});
  CHECK(parse_endpoint("[::]:9782", 0) == Endpoint{"::", 9782});
  CHECK(parse_endpoint("node-b", 9782) == Endpoint{"node-b", 9782});
  CHECK(parse_endpoint("[fd00::3]", 9782) == Endpoint{"fd00::3", 9782});
  CHECK(parse_endpoint("[fe80::1%eth0]:1", 0) == Endpoint{"fe80::1%eth0", 1});
  for (const char* text :
       {"", ":9782", "node", "node:", "node:x", "node:0", "node:65536", "::1:80", "[::1", "[::1]x",
        "[node]:80", "[]:80", "no de:80", "-x:80", "[fe80::1%]:1", "node:80:80"}) {
    INFO(text);
    CHECK_FALSE(parse_endpoint(text, 0));
  }
  CHECK(format_endpoint({"::", 9782}) == "[::]:9782");
  CHECK(format_endpoint({"10.0.0.1", 1}) == "10.0.0.1:1");
}

TEST_CASE("names cannot contain what entities are spelled with") {
  CHECK(is_node_name("n0"));
  CHECK(is_node_name("gpu-node_1.cluster.example"));
  for (const char* text :
       {"", "a<->b", "a,b", "a=b", "a b", "-a", ".a", "a/b", "a\n", "\xc3\xa4"}) {
    INFO(text);
    CHECK_FALSE(is_node_name(text));
  }
  CHECK_FALSE(is_node_name(std::string(254, 'a')));
  CHECK(is_label_value("row 3"));
  CHECK_FALSE(is_label_value("a,b"));
  CHECK_FALSE(is_label_value("a\tb"));
}

TEST_CASE("loopback hosts are recognised, and nothing else") {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) {
    CHECK(is_loopback_host(host));
  }
  for (const char* host : {"::", "0.0.0.0", "10.0.0.1", "127.example", "localhost.example"}) {
    CHECK_FALSE(is_loopback_host(host));
  }
}

TEST_CASE("the nearest key is suggested, a stranger is not") {
  const std::vector<std::string> known = {"listen", "probes.edge.interval", "probes.edge.timeout"};
  CHECK(nearest("lsiten", known) == "listen");
  CHECK(nearest("probes.edge.intervall", known) == "probes.edge.interval");
  CHECK(nearest("edge.timeout", known) == "probes.edge.timeout");
  CHECK(nearest("timeout", known) == "probes.edge.timeout");
  CHECK_FALSE(nearest("xylophone", known));
  CHECK_FALSE(nearest("", known));
  CHECK_FALSE(nearest(std::string(5000, 'l'), known));
}
