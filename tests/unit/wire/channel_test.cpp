// SPDX-License-Identifier: Apache-2.0
//
// The carrier's promises: packets keep their boundaries, nothing inherits the descriptors, the
// daemon's end never waits, and a dead or a shouting worker is a value, not a signal.
#include "probes/wire/channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "probes/wire/message.h"
#include "tests/support/catch.h"

using collwatch::model::ErrorCode;
using collwatch::wire::Channel;
using collwatch::wire::kMaxPacketBytes;
using collwatch::wire::ReceiveStatus;

TEST_CASE("packets arrive whole, in order, and the daemon's end does not wait for them") {
  auto [daemon, worker] = Channel::make_pair().value();
  CHECK(daemon.receive().status == ReceiveStatus::would_block);

  const std::string full(kMaxPacketBytes, 'x');
  REQUIRE(worker.send("one"));
  REQUIRE(worker.send(full));
  const auto one = daemon.receive();
  CHECK(one.status == ReceiveStatus::packet);
  CHECK(one.packet == "one");
  CHECK(daemon.receive().packet == full);
  CHECK(daemon.receive().status == ReceiveStatus::would_block);

  REQUIRE(daemon.send("down"));
  CHECK(worker.receive().packet == "down");
}

TEST_CASE("both ends are close-on-exec and only the daemon's is non-blocking") {
  auto [daemon, worker] = Channel::make_pair().value();
  CHECK((fcntl(daemon.fd(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((fcntl(worker.fd(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((fcntl(daemon.fd(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((fcntl(worker.fd(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("a packet longer than the protocol allows is dropped, and the next one is still read") {
  auto [daemon, worker] = Channel::make_pair().value();
  const std::string shout(kMaxPacketBytes + 1, 'x');
  CHECK_FALSE(worker.send(shout));
  REQUIRE(send(worker.fd(), shout.data(), shout.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(shout.size()));
  REQUIRE(worker.send("after"));
  CHECK(daemon.receive().status == ReceiveStatus::too_big);
  CHECK(daemon.receive().packet == "after");
}

TEST_CASE("a closed peer is `closed` to a reader and an error, not a SIGPIPE, to a writer") {
  auto [daemon, worker] = Channel::make_pair().value();
  REQUIRE(worker.send("last words"));
  worker.close();
  CHECK(daemon.receive().packet == "last words");
  CHECK(daemon.receive().status == ReceiveStatus::closed);
  const auto sent = daemon.send("anybody?");
  REQUIRE_FALSE(sent);
  CHECK(sent.error().sys_errno == EPIPE);

  auto [other, unread] = Channel::make_pair().value();
  REQUIRE(other.send("never read"));
  unread.close();
  CHECK(other.receive().status == ReceiveStatus::closed);
}

TEST_CASE("a full socket is an error to the daemon, never a wait") {
  auto [daemon, worker] = Channel::make_pair().value();
  int sent = 0;
  auto result = daemon.send(std::string(1000, 'x'));
  for (; result && sent < 100000; ++sent) result = daemon.send(std::string(1000, 'x'));
  REQUIRE_FALSE(result);
  CHECK(result.error().sys_errno == EAGAIN);
  CHECK(worker.receive().status == ReceiveStatus::packet);
}

TEST_CASE("an empty packet is refused, because it would read as the end") {
  auto [daemon, worker] = Channel::make_pair().value();
  const auto sent = worker.send("");
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == ErrorCode::limit);
}

TEST_CASE("a moved channel leaves nothing behind to close twice") {
  auto [daemon, worker] = Channel::make_pair().value();
  Channel moved(std::move(daemon));
  CHECK(daemon.fd() == -1);  // NOLINT(bugprone-use-after-move): the promise under test
  daemon = std::move(moved);
  REQUIRE(daemon.send("still here"));
  CHECK(worker.receive().packet == "still here");
  const int raw = daemon.release();
  CHECK(daemon.fd() == -1);
  Channel owner(raw);
  CHECK(owner.send("x"));
}
