// SPDX-License-Identifier: Apache-2.0
//
// getaddrinfo has no deadline, so it runs on a thread that the loop never waits for.
#include "daemon/agent/resolver.h"

#include <arpa/inet.h>

#include <chrono>

namespace collwatch::agent {
namespace {

bool is_numeric(const std::string& host) {
  in6_addr six{};
  in_addr four{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &six) == 1;
}

}  // namespace

Resolver::Resolver(int family) : family_(family) {}

Resolver::~Resolver() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Resolver::set(const std::vector<config::Member>& members) {
  std::unique_lock lock(mutex_);
  std::map<std::string, Entry> next;
  bool names = false;
  for (const config::Member& member : members) {
    Entry entry;
    entry.endpoint = member.address;
    entry.numeric = is_numeric(member.address.host);
    const auto old = entries_.find(member.name);
    if (entry.numeric) {
      if (auto resolved = peer::resolve(entry.endpoint, AF_UNSPEC)) entry.address = *resolved;
    } else {
      names = true;
      entry.trouble = "the name " + entry.endpoint.host + " is not resolved yet";
      if (old != entries_.end() && old->second.endpoint == entry.endpoint) entry = old->second;
    }
    next.emplace(member.name, std::move(entry));
  }
  entries_ = std::move(next);
  dirty_ = true;
  if (names && !thread_.joinable()) thread_ = std::thread([this] { run(); });
  lock.unlock();
  changed_.notify_all();
}

std::optional<peer::Address> Resolver::address(const std::string& member) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(member);
  return found == entries_.end() ? std::nullopt : found->second.address;
}

std::string Resolver::trouble(const std::string& member) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(member);
  return found == entries_.end() ? "not a member" : found->second.trouble;
}

void Resolver::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    dirty_ = false;
    std::vector<std::pair<std::string, config::Endpoint>> names;
    for (const auto& [name, entry] : entries_) {
      if (!entry.numeric) names.emplace_back(name, entry.endpoint);
    }
    bool missing = false;
    for (const auto& [name, endpoint] : names) {
      lock.unlock();
      auto resolved = peer::resolve(endpoint, family_);
      lock.lock();
      if (stop_) return;
      const auto entry = entries_.find(name);
      if (entry == entries_.end() || !(entry->second.endpoint == endpoint)) continue;
      if (resolved) {
        entry->second.address = *resolved;
        entry->second.trouble.clear();
      } else {
        entry->second.trouble = resolved.error().text;
        missing = missing || !entry->second.address;
      }
    }
    const auto pause = missing ? std::chrono::seconds(2) : std::chrono::seconds(30);
    changed_.wait_for(lock, pause, [this] { return stop_ || dirty_; });
  }
}

}  // namespace collwatch::agent
