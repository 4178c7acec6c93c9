// SPDX-License-Identifier: Apache-2.0
//
// Stands in for NCCL's status service (RAS) in tests: speaks its protocol on a port of loopback and
// answers with a report that the test gives it, or misbehaves in one of the ways that real ones and
// strangers do. One thread; ends with the object. Says what it was asked. A test double: it proves
// nothing about NCCL.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace test {

enum class RasDeed {
  answer,
  answer_without_json,  ///< as before 2.28.7: the format is refused
  stop_first,           ///< the first connection is never answered, as by a stopped process
  say_nothing,          ///< none is
  wrong_hello,
  endless_hello,
  close_at_hello,
  drip,     ///< the report, ten bytes at a time, for ever
  endless,  ///< reports without end
  cut       ///< half of the report, then the end
};

class RasServer {
 public:
  RasServer(RasDeed deed, std::string report);
  ~RasServer();
  RasServer(const RasServer&) = delete;
  RasServer& operator=(const RasServer&) = delete;

  std::uint16_t port() const { return port_; }
  void set_report(const std::string& report);
  int connections() const { return connections_; }
  /// All lines of all clients, in order.
  std::vector<std::string> asked() const;
  /// Clients that went while their report was still being sent.
  int left_early() const { return left_early_; }

 private:
  void serve();
  void serve_one(int client);
  void send_report(int client);
  bool send(int client, const std::string& bytes);
  bool read_line(int client, std::string& line);
  bool is_over() const { return over_; }

  const RasDeed deed_;
  mutable std::mutex mutex_;
  std::string report_;
  std::vector<std::string> asked_;
  std::atomic<bool> over_{false};
  std::atomic<int> connections_{0};
  std::atomic<int> left_early_{0};
  int listener_ = -1;
  std::vector<int> stopped_;  ///< connections that are never answered
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace test
