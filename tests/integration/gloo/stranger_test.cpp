// SPDX-License-Identifier: Apache-2.0
//
// Strangers on the port where a worker waits for its peer: port scanners, health checks, an old
// client. The 2022 build takes the first caller for the peer, the later ones tell them apart; in
// neither may a stranger make an edge look open.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "probes/gloo/build_id.h"
#include "probes/gloo/record.h"
#include "tests/integration/gloo/worker_process.h"
#include "tests/support/catch.h"

using namespace collwatch;
using model::Outcome;
using test::of_edge;
using test::WorkerProcess;
using wire::EdgeReport;

namespace {

sockaddr_storage address_in(const wire::Blob& blob) {
  const auto record = gloo_probe::unwrap_record(blob, gloo_probe::build_id(), 2);
  REQUIRE(record);
  if (const auto listener = gloo_probe::listener_of(*record)) return *listener;
  sockaddr_storage address{};  // a pair-listener record starts with the pair's address
  std::memcpy(&address, record->data(), sizeof(address));
  return address;
}

/// A connection that says `words` and stays.
class Stranger {
 public:
  Stranger(const wire::Blob& blob, const std::string& words)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_storage address = address_in(blob);
    REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(sockaddr_in)) == 0);
    REQUIRE(::send(fd_, words.data(), words.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(words.size()));
  }
  ~Stranger() { ::close(fd_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

 private:
  int fd_;
};

const std::string kWords[] = {"", "x", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                              std::string(200, '\0'), std::string(200, '\xff')};

}  // namespace

TEST_CASE("a stranger alone never makes an edge look open") {
  for (const std::string& words : kWords) {
    INFO("stranger says " << words.size() << " bytes");
    WorkerProcess a("node-a");
    WorkerProcess b("node-b");
    const auto meeting = test::prepare_edge(a, b, 1, 300);
    const Stranger at_a(meeting.blob_a, words);
    const Stranger at_b(meeting.blob_b, words);
    // Only one side hears of the meeting; each may be the one that listens.
    a.send(wire::EdgeConnect{"node-b", 1, "context", meeting.blob_b});
    const auto report = a.await<EdgeReport>(of_edge("node-b", 1));
    INFO(wire::encode(wire::FromWorker{report}));
    CHECK(report.outcome != Outcome::ok);

    const auto again = test::prepare_edge(a, b, 2, 300);
    const Stranger at_b_again(again.blob_b, words);
    b.send(wire::EdgeConnect{"node-a", 2, "context", again.blob_a});
    CHECK(b.await<EdgeReport>(of_edge("node-a", 2)).outcome != Outcome::ok);
    a.settle();
    b.settle();
  }
}

TEST_CASE("a stranger beside the peer costs at most this attempt, and both ends agree") {
  for (const std::string& words : kWords) {
    INFO("stranger says " << words.size() << " bytes");
    WorkerProcess a("node-a");
    WorkerProcess b("node-b");
    const auto meeting = test::prepare_edge(a, b, 1, 1000);
    {
      const Stranger at_a(meeting.blob_a, words);
      const Stranger at_b(meeting.blob_b, words);
      test::connect_edge(a, b, 1, meeting);
      const auto from_a = a.await<EdgeReport>(of_edge("node-b", 1));
      const auto from_b = b.await<EdgeReport>(of_edge("node-a", 1));
      INFO(wire::encode(wire::FromWorker{from_a}) << "\n"
                                                  << wire::encode(wire::FromWorker{from_b}));
      CHECK((from_a.outcome == Outcome::ok) == (from_b.outcome == Outcome::ok));
      // A shared listener asks for a pair's number; eight zero bytes happen to be one.
      const bool guessed = words.size() >= 8 && words[0] == '\0';
      if (gloo_probe::kDeviceListener && !guessed) CHECK(from_a.outcome == Outcome::ok);
    }
    test::open_edge(a, b, 2);
  }
}

TEST_CASE("a peer that connects after it was given up does no harm") {
  // The worker is made to listen: its peer's record, made from its own, has a larger address.
  WorkerProcess a("node-a");
  a.send(wire::EdgePrepare{"node-b", 1, 0, "127.0.0.1", 100, 60000});
  const auto blob = a.await<wire::EdgePrepared>().blob;
  const auto own = gloo_probe::unwrap_record(blob, gloo_probe::build_id(), 2).value();
  auto theirs = own;
  const std::string loopback{127, 0, 0, 1};
  const auto at = std::search(theirs.begin(), theirs.end(), loopback.begin(), loopback.end());
  REQUIRE(at != theirs.end());
  at[3] = 2;
  a.send(wire::EdgeConnect{"node-b", 1, "context",
                           gloo_probe::wrap_record(theirs, gloo_probe::build_id())});
  const auto report = a.await<EdgeReport>();
  CHECK(report.phase == model::Phase::connect);
  CHECK(report.outcome == Outcome::timeout);

  // What a dialler's retransmitted SYN would bring: the number of the pair that it wants. (A pair
  // that listens for itself has closed its port by now.)
  if (gloo_probe::kDeviceListener) {
    const Stranger late(blob, std::string(own.end() - 8, own.end()));
    a.settle();
  }
  WorkerProcess b("node-b");
  test::open_edge(a, b, 2);
}
