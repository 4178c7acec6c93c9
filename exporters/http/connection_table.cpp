// SPDX-License-Identifier: Apache-2.0
//
// Linear searches over a few hundred entries, once per accepted connection.
#include "exporters/http/connection_table.h"

namespace collwatch::exporters {
namespace {

bool is_loopback(const std::string& address) {
  return address.rfind("127.", 0) == 0 || address == "::1" || address.rfind("::ffff:127.", 0) == 0;
}

}  // namespace

std::size_t ConnectionTable::count(const std::string* address) const {
  std::size_t sum = 0;
  for (const auto& [fd, connection] : connections_) {
    if (connection.going) continue;
    if (address == nullptr || connection.address == *address) ++sum;
  }
  return sum;
}

int ConnectionTable::oldest(const std::string* address, int except) const {
  int found = -1;
  TimePoint since = TimePoint::max();
  for (const auto& [fd, connection] : connections_) {
    if (fd == except || connection.going || connection.since >= since) continue;
    if (address != nullptr && connection.address != *address) continue;
    found = fd;
    since = connection.since;
  }
  return found;
}

std::vector<int> ConnectionTable::opened(int fd, const std::string& address, TimePoint now) {
  connections_[fd] = {address, now, false};

  std::vector<int> going;
  for (auto& [other, connection] : connections_) {
    if (connection.going || now - connection.since <= limits_.served_within) continue;
    connection.going = true;
    going.push_back(other);
  }
  const auto make_room = [&](const std::string* of, std::size_t limit) {
    while (count(of) > limit) {
      const int victim = oldest(of, fd);
      if (victim < 0) return;
      connections_[victim].going = true;
      going.push_back(victim);
    }
  };
  if (!is_loopback(address)) make_room(&address, limits_.per_address);
  make_room(nullptr, limits_.in_all);
  return going;
}

void ConnectionTable::served(int fd, TimePoint now) {
  const auto found = connections_.find(fd);
  if (found != connections_.end()) found->second.since = now;
}

void ConnectionTable::closed(int fd) {
  connections_.erase(fd);
}

}  // namespace collwatch::exporters
