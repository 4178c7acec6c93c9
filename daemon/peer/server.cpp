// SPDX-License-Identifier: Apache-2.0
//
// One conversation per connection: challenge out, request in, handler, reply out, close.
//
//   reading --frame, MAC, decode ok--> answering --Responder--> writing --all sent--> closed
//      |                                   |                       |
//      +------ bad, client gone, 2 s ------+-----------------------+--> closed
//
// The core is shared with callbacks through weak pointers, so that a Server may be destroyed from
// inside its own handler and a Responder may outlive both client and server.
#include "daemon/peer/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "daemon/peer/admission.h"
#include "daemon/peer/framing.h"
#include "daemon/peer/socket.h"

namespace collwatch::peer {

namespace {

constexpr auto kConversation = std::chrono::seconds(2);
constexpr int kAcceptsPerWakeup = 64;
constexpr auto kAcceptPause = base::Millis(100);

using ConnectionId = std::uint64_t;

/// A daemon that was stopped for a while finds the dials of that time in its backlog, long given
/// up; counted as connections they would keep out the ones that matter now.
bool has_left(int fd) {
  char byte = 0;
  const ssize_t there = recv(fd, &byte, 1, MSG_PEEK);
  return there == 0 || (there < 0 && errno != EAGAIN);
}

struct Connection {
  enum class State { reading, answering, writing };

  explicit Connection(Fd socket) : fd(std::move(socket)), nonce(random_bytes(kNonceBytes)) {}

  Fd fd;
  State state = State::reading;
  Address local;
  Address remote;
  std::string host;   ///< of remote: what admission counts by
  std::string nonce;  ///< ours, in the challenge
  std::string client_nonce;
  std::string token;  ///< the one this conversation began with
  FrameReader reader{kMaxFrameBytes};
  std::string out;
  base::EventLoop::TimerId deadline = 0;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(base::EventLoop& loop, Fd listener, std::string first_token, Server::Handler handler)
      : token(std::move(first_token)),
        loop_(loop),
        listener_(std::move(listener)),
        handler_(std::move(handler)) {}

  model::Result<void> start() {
    return loop_.watch(listener_.get(), EPOLLIN, [weak = weak_from_this()](std::uint32_t) {
      if (const auto core = weak.lock()) core->accept_all();
    });
  }

  void shut_down() {
    while (!connections_.empty()) drop(connections_.begin()->first);
    loop_.cancel(accept_again_);
    loop_.unwatch(listener_.get());
    listener_.reset();
  }

  std::string token;
  Server::Stats stats;

 private:
  void accept_all();
  void pause_accepting();
  void welcome(Fd socket);
  bool make_room(const std::string& host);
  void on_event(ConnectionId id, std::uint32_t events);
  void on_readable(ConnectionId id, Connection& connection);
  void on_request(ConnectionId id, Connection& connection);
  void answer(ConnectionId id, const Reply& reply);
  void flush(ConnectionId id, Connection& connection);
  bool watch(ConnectionId id, const Connection& connection, std::uint32_t events);
  void drop(ConnectionId id);
  void drop_malformed(ConnectionId id) {
    ++stats.malformed;
    drop(id);
  }

  base::EventLoop& loop_;
  Fd listener_;
  Server::Handler handler_;
  ConnectionId next_id_ = 1;
  std::map<ConnectionId, Connection> connections_;
  Admission admission_;
  base::EventLoop::TimerId accept_again_ = 0;
};

void Core::accept_all() {
  for (int i = 0; i < kAcceptsPerWakeup && listener_; ++i) {
    Fd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      const bool exhausted =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted) return pause_accepting();
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      continue;  // that client has gone again (ECONNABORTED and its kin)
    }
    welcome(std::move(socket));
  }
}

/// Out of descriptors: the listener stays readable, so watching it on would spin.
void Core::pause_accepting() {
  ++stats.over_limit;
  loop_.unwatch(listener_.get());
  accept_again_ = loop_.after(kAcceptPause, [weak = weak_from_this()] {
    if (const auto core = weak.lock()) {
      if (!core->start()) core->pause_accepting();
    }
  });
}

void Core::welcome(Fd socket) {
  const auto remote = remote_address(socket.get());
  const auto local = local_address(socket.get());
  if (!remote || !local || has_left(socket.get())) return;
  const std::string host = remote->host();
  const bool own_host = remote->is_loopback() || host == local->host();
  if (!admission_.enter(host, own_host)) {
    ++stats.over_limit;
    if (!make_room(admission_.is_full(host, own_host) ? host : "")) return;
    if (!admission_.enter(host, own_host)) return;
  }
  ++stats.accepted;
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));

  const ConnectionId id = next_id_++;
  Connection& connection = connections_.emplace(id, std::move(socket)).first->second;
  connection.remote = *remote;
  connection.local = *local;
  connection.host = host;
  connection.token = token;
  connection.deadline = loop_.after(kConversation, [weak = weak_from_this(), id] {
    if (const auto core = weak.lock()) {
      ++core->stats.timed_out;
      core->drop(id);
    }
  });
  // A fresh socket's buffer takes a challenge whole; if not, the client is not worth waiting for.
  const std::string challenge = make_challenge(connection.nonce);
  const ssize_t sent = send(connection.fd.get(), challenge.data(), challenge.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(challenge.size())) return drop(id);
  watch(id, connection, EPOLLIN);
}

/// Whoever only holds a connection may not keep out those who have something to say, and they need
/// milliseconds: closes the oldest that has not proven itself yet, of `host`, or (empty) of the
/// host with the most. False: all are being answered.
bool Core::make_room(const std::string& host) {
  ConnectionId weakest = 0;
  std::size_t most = 0;
  for (const auto& [id, connection] : connections_) {
    if (connection.state != Connection::State::reading) continue;
    if (!host.empty() && connection.host != host) continue;
    const std::size_t held = admission_.held_by(connection.host);
    if (held <= most) continue;
    most = held;
    weakest = id;
  }
  if (weakest != 0) drop(weakest);
  return weakest != 0;
}

bool Core::watch(ConnectionId id, const Connection& connection, std::uint32_t events) {
  const auto watched =
      loop_.watch(connection.fd.get(), events, [weak = weak_from_this(), id](std::uint32_t ready) {
        if (const auto core = weak.lock()) core->on_event(id, ready);
      });
  if (!watched) drop(id);
  return watched.has_value();
}

void Core::on_event(ConnectionId id, std::uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return drop(id);
  if (connection.state == Connection::State::writing) return flush(id, connection);
  on_readable(id, connection);
}

void Core::on_readable(ConnectionId id, Connection& connection) {
  std::array<char, 16384> chunk;  // NOLINT: filled by recv
  const std::size_t wanted = std::min(chunk.size(), connection.reader.wanted());
  const ssize_t got = recv(connection.fd.get(), chunk.data(), wanted, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(id);  // gone; a pending Responder finds nobody
  if (connection.state != Connection::State::reading) return drop_malformed(id);
  switch (connection.reader.append({chunk.data(), static_cast<std::size_t>(got)})) {
    case FrameReader::State::incomplete:
      return;
    case FrameReader::State::bad:
      return drop_malformed(id);
    case FrameReader::State::complete:
      return on_request(id, connection);
  }
}

void Core::on_request(ConnectionId id, Connection& connection) {
  const Frame frame = connection.reader.take();
  if (!same_mac(frame.mac, request_mac(connection.token, connection.nonce, frame.body))) {
    ++stats.bad_token;
    return drop(id);
  }
  const auto request = decode_request(frame.body);
  if (!request) return drop_malformed(id);
  connection.state = Connection::State::answering;
  connection.client_nonce = request->nonce;
  // Copies: the handler may answer at once, or even destroy the server, and with it `connection`.
  const Address local = connection.local;
  const Address remote = connection.remote;
  handler_(*request, local, remote, [weak = weak_from_this(), id](const Reply& reply) {
    if (const auto core = weak.lock()) core->answer(id, reply);
  });
}

void Core::answer(ConnectionId id, const Reply& reply) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if (connection.state != Connection::State::answering) return;
  const std::string body = encode(reply);
  if (body.size() > kMaxFrameBytes) return drop_malformed(id);  // ours, and still bounded
  connection.state = Connection::State::writing;
  connection.out = make_frame(
      reply_mac(connection.token, connection.nonce, connection.client_nonce, body), body);
  flush(id, connection);
}

void Core::flush(ConnectionId id, Connection& connection) {
  while (!connection.out.empty()) {
    const ssize_t sent =
        send(connection.fd.get(), connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      watch(id, connection, EPOLLOUT);
      return;
    }
    if (sent < 0) break;
    connection.out.erase(0, static_cast<std::size_t>(sent));
  }
  drop(id);
}

void Core::drop(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  loop_.cancel(connection.deadline);
  loop_.unwatch(connection.fd.get());
  admission_.leave(connection.host);
  connections_.erase(found);
}

class ServerImpl final : public Server {
 public:
  ServerImpl(std::shared_ptr<Core> core, std::uint16_t port)
      : core_(std::move(core)), port_(port) {}
  ~ServerImpl() override { core_->shut_down(); }
  std::uint16_t port() const override { return port_; }
  const Stats& stats() const override { return core_->stats; }
  void set_token(std::string token) override { core_->token = std::move(token); }

 private:
  std::shared_ptr<Core> core_;
  std::uint16_t port_;
};

}  // namespace

model::Result<std::unique_ptr<Server>> Server::create(base::EventLoop& loop,
                                                      const config::Endpoint& listen,
                                                      std::string token, Handler handler) {
  auto listener = open_listener(listen, Protocol::tcp);
  if (!listener) return model::fail(listener.error());
  const auto bound = local_address(listener->get());
  if (!bound) return model::fail(bound.error());
  auto core =
      std::make_shared<Core>(loop, std::move(*listener), std::move(token), std::move(handler));
  if (auto started = core->start(); !started) return model::fail(started.error());
  return std::make_unique<ServerImpl>(std::move(core), bound->port());
}

}  // namespace collwatch::peer
