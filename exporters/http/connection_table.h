// SPDX-License-Identifier: Apache-2.0
//
// Which connections are open, and which must go so that the next scrape always finds a place. The
// library's own idle timeout is not enough: a client that drips a byte now and then is never idle.
// So a connection has an absolute time to be served in, and above a limit (per address, loopback
// excepted, and in all) the one served longest ago makes room for the new one: nobody is refused,
// and whoever holds connections open loses only his own oldest ones. Pure; the HTTP thread's.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace collwatch::exporters {

class ConnectionTable {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Limits {
    std::size_t in_all = 448;  ///< below the library's own limit, at which it stops accepting
    std::size_t per_address = 64;
    std::chrono::seconds served_within{15};
  };

  ConnectionTable() = default;
  explicit ConnectionTable(Limits limits) : limits_(limits) {}

  /// A connection from `address` (numeric) was accepted. Returns those to be shut down now.
  std::vector<int> opened(int fd, const std::string& address, TimePoint now);
  /// A response on it is complete; its time starts anew.
  void served(int fd, TimePoint now);
  void closed(int fd);

  std::size_t size() const { return connections_.size(); }

 private:
  struct Connection {
    std::string address;
    TimePoint since;
    bool going = false;  ///< already told to go
  };
  int oldest(const std::string* address, int except) const;
  std::size_t count(const std::string* address) const;

  Limits limits_;
  std::map<int, Connection> connections_;
};

}  // namespace collwatch::exporters
