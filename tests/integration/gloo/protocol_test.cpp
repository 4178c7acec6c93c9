// SPDX-License-Identifier: Apache-2.0
//
// The worker as a process: how it greets, how it refuses, how it leaves.
#include <sys/socket.h>

#include <csignal>

#include "tests/integration/gloo/worker_process.h"
#include "tests/support/catch.h"

using namespace collwatch;
using test::WorkerProcess;

namespace {

/// What the worker said before it exited with 64.
std::string refusal(WorkerProcess& worker) {
  CHECK(worker.await_exit() == 64);
  return worker.await<wire::WorkerError>().text;
}

}  // namespace

TEST_CASE("garbage is answered by an error and exit code 64") {
  WorkerProcess worker("node-a");
  REQUIRE(worker.channel().send("]garbage["));
  CHECK_THAT(refusal(worker), Catch::Matchers::ContainsSubstring("not a JSON object"));
}

TEST_CASE("an oversized packet is answered by an error and exit code 64") {
  WorkerProcess worker("node-a");
  const std::string shout(wire::kMaxPacketBytes + 1, ' ');
  REQUIRE(::send(worker.channel().fd(), shout.data(), shout.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(shout.size()));
  CHECK_THAT(refusal(worker), Catch::Matchers::ContainsSubstring("64 KiB"));
}

TEST_CASE("requests out of order or out of range are answered by an error and exit code 64") {
  {
    WorkerProcess worker("node-a", false);
    worker.send(wire::Round{1, 500, {}});
    CHECK_THAT(refusal(worker), Catch::Matchers::ContainsSubstring("first request must be start"));
  }
  {
    WorkerProcess worker("node-a", false);
    worker.send(wire::Start{wire::kProtocolVersion + 1, "node-a"});
    CHECK_THAT(refusal(worker), Catch::Matchers::ContainsSubstring("protocol version"));
  }
  const wire::ToWorker bad[] = {
      wire::Start{wire::kProtocolVersion, "again"},
      wire::EdgePrepare{"", 1, 0, "127.0.0.1", 500, 1000},
      wire::EdgePrepare{"node-b", 1, 2, "127.0.0.1", 500, 1000},
      wire::EdgePrepare{"node-b", 1, 0, "127.0.0.1", 0, 1000},
      wire::Round{1, -1, {}},
      wire::Round{1, 500, {{"node-b", 1 << 30}}},
      wire::GroupPrepare{1, 2, 2, "127.0.0.1", 3000},
      wire::GroupPrepare{1, 0, 1, "127.0.0.1", 3000},
      wire::GroupRun{1, 1, 3000, {{model::Collective::allreduce, 1U << 31}}},
  };
  for (const auto& request : bad) {
    INFO(wire::encode(request));
    WorkerProcess worker("node-a");
    worker.send(request);
    CHECK_THAT(refusal(worker), Catch::Matchers::ContainsSubstring("unusable request"));
  }
}

TEST_CASE("stop, SIGTERM and a daemon that is gone all end in a quiet exit 0") {
  const auto leave_by = [](const std::function<void(WorkerProcess&)>& how) {
    WorkerProcess a("node-a");
    WorkerProcess b("node-b");
    test::open_edge(a, b, 1);
    how(a);
    CHECK(a.await_exit() == 0);
    CHECK_FALSE(a.peek<wire::EdgeReport>([](const wire::EdgeReport&) { return true; }));
  };
  leave_by([](WorkerProcess& worker) { worker.send(wire::Stop{}); });
  leave_by([](WorkerProcess& worker) { worker.signal(SIGTERM); });
  leave_by([](WorkerProcess& worker) { worker.channel().close(); });
}

TEST_CASE("every round is acknowledged, in order, whatever the edges do") {
  WorkerProcess a("node-a");
  WorkerProcess b("node-b");
  test::open_edge(a, b, 1);
  b.freeze();
  for (std::int64_t round = 1; round <= 20; ++round) a.send(wire::Round{round, 100, {}});
  for (std::int64_t round = 1; round <= 20; ++round) {
    const auto ack = a.await<wire::RoundAck>();
    CHECK(ack.number == round);
    CHECK(ack.late_us >= 0);
  }
}
