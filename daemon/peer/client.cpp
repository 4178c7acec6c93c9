// SPDX-License-Identifier: Apache-2.0
//
// connect, challenge in, request out, reply in; every way it can end becomes one CallResult.
#include "daemon/peer/client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "daemon/peer/framing.h"
#include "daemon/peer/socket.h"

namespace collwatch::peer {

namespace {

constexpr std::size_t kMaxChallengeBytes = 1024;

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(base::EventLoop& loop, const Address& to, std::string token, Call::Callback callback)
      : loop_(loop), to_(to), token_(std::move(token)), callback_(std::move(callback)) {}

  void start(const Address& bind_to, Request request, base::Millis deadline);
  /// Ends without a word.
  void cancel();

 private:
  int open(const Address& bind_to);
  bool watch(std::uint32_t events);
  void on_event(std::uint32_t events);
  void on_connected();
  void on_readable();
  void on_challenge(const Frame& frame);
  void on_reply(const Frame& frame);
  void flush();
  void finish(const std::string& problem);
  void fail_errno(int sys_errno) {
    result_.sys_errno = sys_errno;
    finish(describe_errno(sys_errno));
  }
  void fail_protocol(const std::string& problem) {
    result_.protocol_error = true;
    finish(problem);
  }

  base::EventLoop& loop_;
  Address to_;
  std::string token_;
  Call::Callback callback_;
  Fd fd_;
  base::EventLoop::TimerId deadline_ = 0;
  CallResult result_;
  std::string body_;  ///< the encoded request
  std::string nonce_;
  std::string server_nonce_;
  FrameReader reader_{kMaxChallengeBytes};
  std::string out_;
};

/// 0 while connecting, else the errno of what failed at once.
int Core::open(const Address& bind_to) {
  fd_ = Fd(socket(to_.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_) return errno;
  const int on = 1;
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (bind_to.valid()) {
    if (bind_to.family() != to_.family()) return EAFNOSUPPORT;
    // The port is chosen at connect(), by destination: binding alone would use up the range.
    setsockopt(fd_.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    const auto* local = reinterpret_cast<const sockaddr*>(&bind_to.storage);
    if (bind(fd_.get(), local, bind_to.length) != 0) return errno;
  }
  const auto* remote = reinterpret_cast<const sockaddr*>(&to_.storage);
  if (connect(fd_.get(), remote, to_.length) != 0 && errno != EINPROGRESS) return errno;
  return 0;
}

void Core::start(const Address& bind_to, Request request, base::Millis deadline) {
  nonce_ = to_hex(random_bytes(kNonceBytes));
  request.nonce = nonce_;
  body_ = encode(request);
  int failed = body_.size() > kMaxFrameBytes ? EMSGSIZE : open(bind_to);
  const auto again = [weak = weak_from_this()](auto then) {
    return [weak, then] {
      if (const auto core = weak.lock()) then(*core);
    };
  };
  if (failed == 0 && !watch(EPOLLOUT)) failed = EMFILE;
  if (failed != 0) {
    // Never from inside start(): the caller has no Call to destroy yet.
    deadline_ = loop_.after({}, again([failed](Core& core) { core.fail_errno(failed); }));
    return;
  }
  deadline_ =
      loop_.after(deadline, again([deadline](Core& core) {
                    core.result_.timed_out = true;
                    core.finish("no answer within " + std::to_string(deadline.count()) + " ms");
                  }));
}

void Core::cancel() {
  callback_ = nullptr;
  if (fd_) loop_.unwatch(fd_.get());
  loop_.cancel(deadline_);
  fd_.reset();
}

bool Core::watch(std::uint32_t events) {
  return loop_
      .watch(fd_.get(), events,
             [weak = weak_from_this()](std::uint32_t ready) {
               if (const auto core = weak.lock()) core->on_event(ready);
             })
      .has_value();
}

void Core::on_event(std::uint32_t events) {
  if (!fd_) return;
  if (result_.stage == CallStage::connecting) return on_connected();
  if ((events & EPOLLOUT) != 0 && !out_.empty()) flush();
  // Readable, reset and half-closed all show in recv().
  if (fd_ && (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) on_readable();
}

void Core::on_connected() {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return fail_errno(error);
  result_.stage = CallStage::challenged_awaited;
  if (const auto local = local_address(fd_.get())) result_.local = *local;
  if (!watch(EPOLLIN)) fail_errno(EMFILE);
}

void Core::on_readable() {
  std::array<char, 16384> chunk;  // NOLINT: filled by recv
  const std::size_t wanted = std::min(chunk.size(), reader_.wanted());
  const ssize_t got = recv(fd_.get(), chunk.data(), wanted, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) return fail_errno(errno);
  const bool challenged = result_.stage == CallStage::reply_awaited;
  if (got == 0) {
    return finish(challenged ? "closed the connection instead of answering (different token?)"
                             : "closed the connection at once (too many of them?)");
  }
  switch (reader_.append({chunk.data(), static_cast<std::size_t>(got)})) {
    case FrameReader::State::incomplete:
      return;
    case FrameReader::State::bad:
      return fail_protocol("does not speak our protocol");
    case FrameReader::State::complete:
      break;
  }
  const Frame frame = reader_.take();
  challenged ? on_reply(frame) : on_challenge(frame);
}

void Core::on_challenge(const Frame& frame) {
  auto nonce = read_challenge(frame.body);
  if (!nonce) return fail_protocol("sent no challenge: " + nonce.error().text);
  server_nonce_ = std::move(*nonce);
  result_.stage = CallStage::reply_awaited;
  reader_ = FrameReader(kMaxFrameBytes);
  out_ = make_frame(request_mac(token_, server_nonce_, body_), body_);
  flush();
}

void Core::flush() {
  while (!out_.empty()) {
    const ssize_t sent = send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      if (!watch(EPOLLIN | EPOLLOUT)) fail_errno(EMFILE);
      return;
    }
    if (sent < 0) return fail_errno(errno);
    out_.erase(0, static_cast<std::size_t>(sent));
  }
  if (!watch(EPOLLIN)) fail_errno(EMFILE);
}

void Core::on_reply(const Frame& frame) {
  if (!same_mac(frame.mac, reply_mac(token_, server_nonce_, nonce_, frame.body))) {
    return fail_protocol("its answer has a bad MAC");
  }
  auto reply = decode_reply(frame.body);
  if (!reply) return fail_protocol(reply.error().text);
  result_.stage = CallStage::done;
  result_.reply = std::move(*reply);
  finish("answered");
}

void Core::finish(const std::string& problem) {
  const Call::Callback callback = std::move(callback_);
  cancel();
  result_.text = to_.text() + ": " + problem;
  // Last: the callback may destroy the Call, and the loop's caller keeps only this core alive.
  if (callback) callback(std::move(result_));
}

class CallImpl final : public Call {
 public:
  explicit CallImpl(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ~CallImpl() override { core_->cancel(); }

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace

std::unique_ptr<Call> Call::start(base::EventLoop& loop, const Address& to, const Address& bind_to,
                                  const std::string& token, Request request, base::Millis deadline,
                                  Callback callback) {
  auto core = std::make_shared<Core>(loop, to, token, std::move(callback));
  core->start(bind_to, std::move(request), deadline);
  return std::make_unique<CallImpl>(std::move(core));
}

}  // namespace collwatch::peer
