// SPDX-License-Identifier: Apache-2.0
//
// Turns member addresses into numeric ones without ever blocking the loop: numeric hosts at once,
// names on a thread of its own, again every 30 s and sooner while one does not resolve. The last
// good answer is kept when DNS goes away. Answers are read on the loop's thread.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/peer/address.h"

namespace collwatch::agent {

class Resolver {
 public:
  explicit Resolver(int family);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// The members to keep resolved; replaces the earlier list.
  void set(const std::vector<config::Member>& members);

  /// The numeric address of a member, once known.
  std::optional<peer::Address> address(const std::string& member) const;
  /// Why a member has no address yet, for people.
  std::string trouble(const std::string& member) const;

 private:
  struct Entry {
    config::Endpoint endpoint;
    std::optional<peer::Address> address;
    bool numeric = false;
    std::string trouble;
  };
  void run();

  const int family_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Entry> entries_;
  bool dirty_ = false;
  bool stop_ = false;
  std::thread thread_;  ///< started only when a name has to be resolved
};

}  // namespace collwatch::agent
