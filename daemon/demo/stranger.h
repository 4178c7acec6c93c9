// SPDX-License-Identifier: Apache-2.0
//
// Stranger: what an open network does to listening ports. A thread of its own that knocks on every
// given door about five times a second: connects and says nothing, connects and talks garbage,
// connects and leaves, and sends garbage datagrams. The `stray` fault; nobody may be suspected.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace collwatch::demo {

/// TCP ports on which the process itself listens, from /proc (its own network namespace).
std::vector<std::uint16_t> listening_ports(pid_t pid);

class Stranger {
 public:
  struct Door {
    std::string netns;    ///< where the stranger stands; empty: the host's own network
    std::string address;  ///< numeric IPv4
    std::vector<std::uint16_t> ports;
  };

  explicit Stranger(std::vector<Door> doors);
  ~Stranger();
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  int knocks() const { return knocks_; }

 private:
  void roam();

  std::vector<Door> doors_;
  std::atomic<bool> leave_{false};
  std::atomic<int> knocks_{0};
  std::thread thread_;
};

}  // namespace collwatch::demo
