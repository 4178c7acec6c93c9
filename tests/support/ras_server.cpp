// SPDX-License-Identifier: Apache-2.0
//
// One client after the other, as RAS does; every wait is a short poll, so that the end comes soon.
#include "tests/support/ras_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace test {
namespace {

constexpr int kWaitMs = 20;

bool is_ready(int fd, short events) {
  pollfd ready{fd, events, 0};
  return ::poll(&ready, 1, kWaitMs) > 0;
}

}  // namespace

RasServer::RasServer(RasDeed deed, std::string report) : deed_(deed), report_(std::move(report)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      ::listen(listener_, 16) == 0 &&
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    port_ = ntohs(address.sin_port);
  }
  thread_ = std::thread([this] { serve(); });
}

RasServer::~RasServer() {
  over_ = true;
  thread_.join();
  ::close(listener_);
  for (const int fd : stopped_) ::close(fd);
}

void RasServer::set_report(const std::string& report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  report_ = report;
}

std::vector<std::string> RasServer::asked() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return asked_;
}

void RasServer::serve() {
  while (!is_over()) {
    if (!is_ready(listener_, POLLIN)) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    ++connections_;
    const bool is_stopped =
        deed_ == RasDeed::say_nothing || (deed_ == RasDeed::stop_first && connections_ == 1);
    if (is_stopped) {
      stopped_.push_back(client);
      continue;
    }
    serve_one(client);
    ::close(client);
  }
}

bool RasServer::send(int client, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    if (is_over()) return false;
    if (!is_ready(client, POLLOUT)) continue;
    const ssize_t sent =
        ::send(client, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) at += static_cast<std::size_t>(sent);
  }
  return true;
}

bool RasServer::read_line(int client, std::string& line) {
  line.clear();
  while (!is_over()) {
    if (!is_ready(client, POLLIN)) continue;
    char byte = 0;
    if (::recv(client, &byte, 1, 0) != 1) return false;
    if (byte != '\n') {
      line += byte;
      continue;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    asked_.push_back(line);
    return true;
  }
  return false;
}

void RasServer::serve_one(int client) {
  if (deed_ == RasDeed::close_at_hello) return;
  std::string line;
  while (read_line(client, line)) {
    std::string answer = "OK\n";
    if (line.rfind("CLIENT PROTOCOL", 0) == 0) {
      answer = "SERVER PROTOCOL 2\n";
      if (deed_ == RasDeed::wrong_hello) answer = "220 mail.example.org ESMTP\r\n";
      if (deed_ == RasDeed::endless_hello) answer = std::string(5000, 'x');
    } else if (line.rfind("SET FORMAT", 0) == 0 && deed_ == RasDeed::answer_without_json) {
      answer = "ERROR: Unknown command set format json\n";
    } else if (line == "STATUS") {
      return send_report(client);
    }
    if (!send(client, answer)) return;
  }
}

void RasServer::send_report(int client) {
  std::string report;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    report = report_;
  }
  bool sent = true;
  if (deed_ == RasDeed::drip) {
    for (std::size_t at = 0; sent; at = (at + 10) % report.size()) {
      sent = send(client, report.substr(at, 10)) && !is_over();
      for (int i = 0; i < 3 && sent; ++i) sent = !is_ready(client, POLLIN);  // it left
    }
  } else if (deed_ == RasDeed::endless) {
    while (sent) sent = send(client, report);
  } else if (deed_ == RasDeed::cut) {
    sent = send(client, report.substr(0, report.size() / 2));
  } else {
    sent = send(client, report);
  }
  if (!sent && !is_over()) ++left_early_;
}

}  // namespace test
