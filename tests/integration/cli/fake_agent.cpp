// SPDX-License-Identifier: Apache-2.0
//
// One connection after the other; reads up to the blank line, answers, closes.
#include "tests/integration/cli/fake_agent.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace collwatch::test {

FakeAgent::FakeAgent(std::map<std::string, FakeReply> replies) : replies_(std::move(replies)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, generic, length) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, generic, &length) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FakeAgent::~FakeAgent() {
  stop_ = true;
  shutdown(listener_, SHUT_RDWR);  // wakes accept
  thread_.join();
  close(listener_);
}

void FakeAgent::serve() {
  while (!stop_) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    answer(connection);
    close(connection);
  }
}

void FakeAgent::answer(int connection) const {
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos) {
    std::array<char, 1024> chunk{};
    const ssize_t got = recv(connection, chunk.data(), chunk.size(), 0);
    if (got <= 0) return;
    request.append(chunk.data(), static_cast<std::size_t>(got));
  }
  const std::size_t begin = request.find(' ') + 1;
  const auto found = replies_.find(request.substr(begin, request.find(' ', begin) - begin));
  const FakeReply reply = found == replies_.end() ? FakeReply{404, "not here"} : found->second;
  const std::string text =
      "HTTP/1.1 " + std::to_string(reply.status) +
      " x\r\nConnection: close\r\nContent-Length: " + std::to_string(reply.body.size()) +
      "\r\n\r\n" + reply.body;
  (void)send(connection, text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace collwatch::test
