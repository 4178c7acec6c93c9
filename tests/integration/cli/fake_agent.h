// SPDX-License-Identifier: Apache-2.0
//
// An HTTP server on a loopback port that answers each path with a fixed reply, in a thread of its
// own until destroyed. Stands in for an agent in the CLI's tests.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

namespace collwatch::test {

struct FakeReply {
  int status = 200;
  std::string body;
};

class FakeAgent {
 public:
  /// Paths that are not in `replies` are answered 404.
  explicit FakeAgent(std::map<std::string, FakeReply> replies);
  ~FakeAgent();
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void serve();
  void answer(int connection) const;

  std::map<std::string, FakeReply> replies_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace collwatch::test
