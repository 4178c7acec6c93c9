// SPDX-License-Identifier: Apache-2.0
//
// Who has to go when, on a clock of our own.
#include "exporters/http/connection_table.h"

#include "tests/support/catch.h"

using collwatch::exporters::ConnectionTable;
using namespace std::chrono_literals;
using Fds = std::vector<int>;

namespace {
const ConnectionTable::TimePoint t0{};
}

TEST_CASE("above the limit the one served longest ago makes room") {
  ConnectionTable table({3, 10, 15s});
  CHECK(table.opened(1, "127.0.0.1", t0).empty());
  CHECK(table.opened(2, "127.0.0.1", t0 + 1s).empty());
  CHECK(table.opened(3, "127.0.0.1", t0 + 2s).empty());
  table.served(1, t0 + 3s);
  CHECK(table.opened(4, "127.0.0.1", t0 + 4s) == Fds{2});
  // 2 is on its way out and is not counted again.
  CHECK(table.opened(5, "127.0.0.1", t0 + 4s) == Fds{3});
  table.closed(2);
  table.closed(3);
  CHECK(table.size() == 3);
}

TEST_CASE("an address has its own limit, except loopback") {
  ConnectionTable table({100, 2, 15s});
  for (int fd = 0; fd < 50; ++fd) CHECK(table.opened(fd, "127.0.0.1", t0).empty());
  CHECK(table.opened(50, "10.0.0.1", t0).empty());
  CHECK(table.opened(51, "10.0.0.1", t0 + 1s).empty());
  CHECK(table.opened(52, "10.0.0.2", t0 + 2s).empty());
  CHECK(table.opened(53, "10.0.0.1", t0 + 3s) == Fds{50});
}

TEST_CASE("loopback comes in several spellings") {
  for (const char* address : {"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"}) {
    ConnectionTable table({100, 1, 15s});
    CHECK(table.opened(1, address, t0).empty());
    CHECK(table.opened(2, address, t0).empty());
  }
}

TEST_CASE("a connection not served in time goes, however busy it looks") {
  ConnectionTable table({100, 100, 15s});
  CHECK(table.opened(1, "10.0.0.1", t0).empty());
  CHECK(table.opened(2, "10.0.0.2", t0).empty());
  table.served(2, t0 + 10s);
  CHECK(table.opened(3, "10.0.0.3", t0 + 16s) == Fds{1});
}

TEST_CASE("a descriptor number that comes again is a new connection") {
  ConnectionTable table({100, 100, 15s});
  CHECK(table.opened(1, "10.0.0.1", t0).empty());
  table.closed(1);
  CHECK(table.opened(1, "10.0.0.2", t0 + 20s).empty());
  table.served(99, t0);  // never seen: no effect
  table.closed(99);
  CHECK(table.size() == 1);
}
