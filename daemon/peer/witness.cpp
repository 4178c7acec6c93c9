// SPDX-License-Identifier: Apache-2.0
//
// recvmsg until empty (bounded per wakeup), then the sieve: MAC, shape, receiver, sender, sequence.
#include "daemon/peer/witness.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "daemon/peer/framing.h"
#include "daemon/peer/replay_window.h"
#include "daemon/peer/socket.h"

namespace collwatch::peer {

namespace {

constexpr int kDatagramsPerWakeup = 64;

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(base::EventLoop& loop, Fd socket, std::string first_token, WitnessSocket::Handler handler,
       const std::string& self)
      : token(std::move(first_token)),
        loop_(loop),
        socket_(std::move(socket)),
        handler_(std::move(handler)) {
    if (!self.empty()) self_ = name_hash(self);
  }

  model::Result<void> start() {
    const auto bound = local_address(socket_.get());
    if (!bound) return model::fail(bound.error());
    port = bound->port();
    int family = 0;
    socklen_t length = sizeof(family);
    getsockopt(socket_.get(), SOL_SOCKET, SO_DOMAIN, &family, &length);
    family_ = family;
    return loop_.watch(socket_.get(), EPOLLIN, [weak = weak_from_this()](std::uint32_t) {
      if (const auto core = weak.lock()) core->receive_all();
    });
  }

  void shut_down() {
    loop_.unwatch(socket_.get());
    socket_.reset();
  }

  bool send(const Address& to, WitnessMessage message);
  void admit(const std::string& name, const std::string& incarnation, std::uint64_t cookie);
  void forget(const std::string& name) { senders_.erase(name); }

  std::string token;
  WitnessSocket::Stats stats;
  std::uint16_t port = 0;

 private:
  struct Sender {
    std::string incarnation;
    std::uint64_t cookie = 0;
    ReplayWindow window;
  };

  void receive_all();
  void receive(std::string_view datagram, const Address& from);

  base::EventLoop& loop_;
  Fd socket_;
  WitnessSocket::Handler handler_;
  std::optional<std::uint32_t> self_;
  int family_ = AF_UNSPEC;
  std::uint64_t sequence_ = 0;
  std::map<std::string, Sender> senders_;
};

void Core::admit(const std::string& name, const std::string& incarnation, std::uint64_t cookie) {
  Sender& sender = senders_[name];
  sender.cookie = cookie;
  // Meeting the same incarnation again must not reopen its window to old datagrams.
  if (sender.incarnation == incarnation) return;
  sender = Sender{incarnation, cookie, {}};
}

bool Core::send(const Address& to, WitnessMessage message) {
  message.sequence = ++sequence_;
  std::string datagram = encode(message);
  datagram += datagram_mac(token, datagram);
  const Address address = for_family(to, family_);
  const bool fits = datagram.size() <= kMaxDatagramBytes && address.valid();
  const auto* target = reinterpret_cast<const sockaddr*>(&address.storage);
  const ssize_t sent = fits ? sendto(socket_.get(), datagram.data(), datagram.size(),
                                     MSG_NOSIGNAL | MSG_DONTWAIT, target, address.length)
                            : -1;
  ++(sent < 0 ? stats.send_failed : stats.sent);
  return sent >= 0;
}

void Core::receive_all() {
  std::array<char, kMaxDatagramBytes> buffer;  // NOLINT: filled by recvmsg
  for (int i = 0; i < kDatagramsPerWakeup && socket_; ++i) {
    Address from;
    iovec part{buffer.data(), buffer.size()};
    msghdr header{};
    header.msg_name = &from.storage;
    header.msg_namelen = sizeof(from.storage);
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    const ssize_t got = recvmsg(socket_.get(), &header, MSG_DONTWAIT);
    if (got < 0) return;
    ++stats.received;
    from.length = header.msg_namelen;
    if ((header.msg_flags & MSG_TRUNC) != 0) {
      ++stats.malformed;
      continue;
    }
    receive({buffer.data(), static_cast<std::size_t>(got)}, unmapped(from));
  }
}

void Core::receive(std::string_view datagram, const Address& from) {
  if (datagram.size() <= kShortMacBytes) {
    ++stats.malformed;
    return;
  }
  const std::string_view body = datagram.substr(0, datagram.size() - kShortMacBytes);
  if (!same_mac(datagram.substr(body.size()), datagram_mac(token, body))) {
    ++stats.bad_mac;
    return;
  }
  const auto message = decode_witness(body);
  if (!message) {
    ++stats.malformed;
    return;
  }
  if (self_ && message->to != *self_) {
    ++stats.misdirected;
    return;
  }
  const auto sender = senders_.find(message->from);
  // Before the sequence number counts: a forged one must not shut out the true sender's.
  if (sender == senders_.end() || sender->second.incarnation != message->incarnation ||
      (sender->second.cookie != 0 && sender->second.cookie != message->shows)) {
    ++stats.unknown_sender;
    return;
  }
  if (!sender->second.window.take(message->sequence)) {
    ++stats.replayed;
    return;
  }
  handler_(*message, from);
}

class WitnessSocketImpl final : public WitnessSocket {
 public:
  explicit WitnessSocketImpl(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ~WitnessSocketImpl() override { core_->shut_down(); }
  std::uint16_t port() const override { return core_->port; }
  void admit(const std::string& name, const std::string& incarnation,
             std::uint64_t cookie) override {
    core_->admit(name, incarnation, cookie);
  }
  void forget(const std::string& name) override { core_->forget(name); }
  bool send(const Address& to, WitnessMessage message) override {
    return core_->send(to, std::move(message));
  }
  const Stats& stats() const override { return core_->stats; }
  void set_token(std::string token) override { core_->token = std::move(token); }

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace

model::Result<std::unique_ptr<WitnessSocket>> WitnessSocket::create(base::EventLoop& loop,
                                                                    const config::Endpoint& listen,
                                                                    std::string token,
                                                                    Handler handler,
                                                                    const std::string& self) {
  auto socket = open_listener(listen, Protocol::udp);
  if (!socket) return model::fail(socket.error());
  auto core =
      std::make_shared<Core>(loop, std::move(*socket), std::move(token), std::move(handler), self);
  if (auto started = core->start(); !started) return model::fail(started.error());
  return std::make_unique<WitnessSocketImpl>(std::move(core));
}

}  // namespace collwatch::peer
