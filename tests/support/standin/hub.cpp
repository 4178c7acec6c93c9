// SPDX-License-Identifier: Apache-2.0
//
// Accept, check, then one round of requests after the other.
#include "tests/support/standin/hub.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <thread>

namespace standin {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// Small messages go at once: several make up a request.
int at_once(int fd) {
  const int on = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

struct Member {
  int fd = -1;
  Hello hello;
};

/// What is wrong with this company, in NCCL's words; empty: nothing.
std::string objection(const std::vector<Member>& members) {
  for (const Member& a : members) {
    for (const Member& b : members) {
      if (a.hello.rank >= b.hello.rank) continue;
      if (a.hello.version != b.hello.version) {
        return "Mismatched NCCL version detected : rank " + std::to_string(a.hello.rank) +
               " version " + std::to_string(a.hello.version) + " rank " +
               std::to_string(b.hello.rank) + " version " + std::to_string(b.hello.version);
      }
      if (std::strcmp(a.hello.bus, b.hello.bus) == 0) {
        return "Duplicate GPU detected : rank " + std::to_string(a.hello.rank) + " and rank " +
               std::to_string(b.hello.rank) + " both on CUDA device " + a.hello.bus;
      }
    }
  }
  return "";
}

void add_words(Bytes& sum, const Bytes& more) {
  for (std::size_t i = 0; i + 4 <= sum.size() && i + 4 <= more.size(); i += 4) {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::memcpy(&a, &sum[i], 4);
    std::memcpy(&b, &more[i], 4);
    a += b;
    std::memcpy(&sum[i], &a, 4);
  }
}

Bytes part_of(const Bytes& all, std::size_t part, std::size_t parts) {
  const std::size_t size = all.size() / parts;
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(part * size);
  return {from, from + static_cast<std::ptrdiff_t>(size)};
}

Bytes result_for(std::size_t rank, Kind kind, const std::vector<Bytes>& inputs) {
  Bytes result;
  switch (kind) {
    case Kind::allreduce:
    case Kind::reduce_scatter:
      result = inputs[0];
      for (std::size_t i = 1; i < inputs.size(); ++i) add_words(result, inputs[i]);
      return kind == Kind::allreduce ? result : part_of(result, rank, inputs.size());
    case Kind::allgather:
      for (const Bytes& input : inputs) result.insert(result.end(), input.begin(), input.end());
      return result;
    case Kind::broadcast:
      return inputs[0];
    case Kind::exchange:
      for (const Bytes& input : inputs) {
        const Bytes part = part_of(input, rank, inputs.size());
        result.insert(result.end(), part.begin(), part.end());
      }
      return result;
  }
  return result;
}

bool answer_all(const std::vector<Member>& members, int code, const std::string& text) {
  Answer answer;
  answer.code = code;
  std::snprintf(answer.text, sizeof answer.text, "%s", text.c_str());
  for (const Member& member : members) (void)write_all(member.fd, &answer, sizeof answer);
  return code == 0;
}

bool one_round(const std::vector<Member>& members) {
  std::vector<Bytes> inputs;
  Kind kind = Kind::allreduce;
  for (const Member& member : members) {
    Request request;
    if (!read_all(member.fd, &request, sizeof request)) return false;
    kind = request.kind;
    Bytes& input = inputs.emplace_back(request.bytes);
    if (!read_all(member.fd, input.data(), input.size())) return false;
  }
  // Rank 0 last: this is its process, which ends when it has all that it waits for.
  for (std::size_t rank = members.size(); rank-- > 0;) {
    const Bytes result = result_for(rank, kind, inputs);
    const Answer fine;
    const std::uint64_t size = result.size();
    if (!write_all(members[rank].fd, &fine, sizeof fine)) continue;
    (void)write_all(members[rank].fd, &size, sizeof size);
    (void)write_all(members[rank].fd, result.data(), result.size());
  }
  return true;
}

void serve(int listener) {
  std::vector<Member> members;
  std::size_t here = 0;
  do {
    Member member;
    member.fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (member.fd < 0) break;
    at_once(member.fd);
    if (!read_all(member.fd, &member.hello, sizeof member.hello)) continue;
    members.resize(member.hello.ranks);
    if (member.hello.rank < members.size()) members[member.hello.rank] = member;
    ++here;
  } while (members.empty() || here < members.size());
  ::close(listener);
  const std::string wrong = objection(members);
  if (answer_all(members, wrong.empty() ? 0 : 5, wrong)) {
    while (one_round(members)) {
    }
    answer_all(members, 6, "socketProgress: Connection closed by remote peer");
  }
  for (const Member& member : members) ::close(member.fd);
}

}  // namespace

bool read_all(int fd, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::recv(fd, at, bytes, 0);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int fd, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t sent = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

std::uint16_t start_hub() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener, 64) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    ::close(listener);
    return 0;
  }
  std::thread(serve, listener).detach();
  return ntohs(address.sin_port);
}

int connect_to_hub(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return at_once(fd);
  }
  ::close(fd);
  return -1;
}

}  // namespace standin
