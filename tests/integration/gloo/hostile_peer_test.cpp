// SPDX-License-Identifier: Apache-2.0
//
// A Gloo peer inside the test that does not keep to the protocol: bytes that changed on the way,
// payloads of somebody else, sizes that were not announced. The worker reports the first two and
// leaves last words when its library aborts over the third.
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <csignal>
#include <thread>

#include "probes/gloo/build_id.h"
#include "probes/gloo/payload.h"
#include "probes/gloo/record.h"
#include "probes/gloo/store.h"
#include "tests/integration/gloo/worker_process.h"
#include "tests/support/catch.h"

using namespace collwatch;
using gloo_probe::Payload;
using gloo_probe::PayloadKind;
using model::Outcome;
using model::Phase;
using test::WorkerProcess;
using wire::EdgeReport;

namespace {

constexpr auto kPatience = std::chrono::seconds(20);

/// Rank 0 ("hostile") of an edge to a worker called "node-z", which answers.
class HostilePeer {
 public:
  static constexpr std::chrono::milliseconds kTimeout{2000};

  explicit HostilePeer(WorkerProcess& worker) {
    std::signal(SIGPIPE, SIG_IGN);
    worker.send(wire::EdgePrepare{"hostile", 1, 1, "127.0.0.1", kTimeout.count(), 60000});
    const auto theirs = worker.await<wire::EdgePrepared>().blob;
    const std::string build = gloo_probe::build_id();

    gloo_probe::MeetingStore::Options options;
    options.rank = 0;
    options.size = 2;
    options.deadline = std::chrono::steady_clock::now() + kPatience;
    options.publish = [&](const wire::Blob& record) {
      worker.send(wire::EdgeConnect{"hostile", 1, "ctx", gloo_probe::wrap_record(record, build)});
    };
    options.before_connect = [](const wire::Blob&, const wire::Blob&) {};
    auto store = std::make_shared<gloo_probe::MeetingStore>(options);
    const auto record = gloo_probe::unwrap_record(theirs, build, 2).value();
    store->deliver({record, record});

    ::gloo::transport::tcp::attr attr("127.0.0.1");
    context_ = std::make_shared<gloo_probe::GlooContext>(0, 2);
    context_->setTimeout(kPatience);
    gloo_probe::connect_full_mesh(*context_, store, ::gloo::transport::tcp::CreateDevice(attr));
  }

  /// Sends `payload` as rank 0 would, after `spoil` has had its way with the bytes.
  void send(
      const Payload& payload, std::uint32_t bytes = gloo_probe::kSmallBytes,
      const std::function<void(std::vector<char>&)>& spoil = [](std::vector<char>&) {},
      const std::string& sender = "hostile") {
    std::vector<char> memory(bytes);
    gloo_probe::fill_payload(memory, payload, gloo_probe::make_seal("ctx", sender));
    spoil(memory);
    auto buffer = context_->createUnboundBuffer(memory.data(), memory.size());
    buffer->send(1, slot(payload.kind, true));
    buffer->waitSend(kPatience);
  }
  void receive(PayloadKind kind, std::uint32_t bytes = gloo_probe::kSmallBytes) {
    std::vector<char> memory(bytes);
    auto buffer = context_->createUnboundBuffer(memory.data(), memory.size());
    buffer->recv(1, slot(kind, false));
    buffer->waitRecv(kPatience);
  }
  /// Takes what comes, whenever it does.
  void receive_later(PayloadKind kind, std::uint32_t bytes) {
    auto& memory = later_.emplace_back(bytes);
    later_buffers_.push_back(context_->createUnboundBuffer(memory.data(), memory.size()));
    later_buffers_.back()->recv(1, slot(kind, false));
  }
  /// A faultless small part that announces `large_bytes`.
  void small_part(std::int64_t round, std::uint32_t large_bytes) {
    send({PayloadKind::token, round, large_bytes});
    receive(PayloadKind::reply);
    send({PayloadKind::go, round, large_bytes});
  }

 private:
  static std::uint64_t slot(PayloadKind kind, bool from_rank_0) {  // as link.cpp numbers them
    return 2 * static_cast<std::uint64_t>(kind) + (from_rank_0 ? 1 : 0);
  }

  std::shared_ptr<gloo_probe::GlooContext> context_;
  std::deque<std::vector<char>> later_;
  std::vector<std::unique_ptr<::gloo::transport::UnboundBuffer>> later_buffers_;
};

EdgeReport failure(WorkerProcess& worker) {
  return worker.await<EdgeReport>(
      [](const EdgeReport& report) { return report.outcome != Outcome::ok; });
}

}  // namespace

TEST_CASE(
    "a well-behaved peer made by the test is accepted, so that the others fail for a reason") {
  WorkerProcess worker("node-z");
  HostilePeer peer(worker);
  peer.small_part(0, 0);
  CHECK(worker.await<EdgeReport>().outcome == Outcome::ok);
  peer.small_part(1, 0);
  CHECK(worker.await<EdgeReport>().round == 1);
}

TEST_CASE("one flipped bit in a small or a large payload is data corruption") {
  const auto flip = [](std::vector<char>& bytes) { bytes[bytes.size() / 2] ^= 4; };
  {
    WorkerProcess worker("node-z");
    HostilePeer peer(worker);
    peer.small_part(0, 0);
    peer.send({PayloadKind::token, 1, 0}, 64, flip);
    const auto report = failure(worker);
    CHECK(report.outcome == Outcome::data_corruption);
    CHECK(report.failed_bytes == 64);
  }
  WorkerProcess worker("node-z");
  HostilePeer peer(worker);
  peer.small_part(0, 0);
  peer.small_part(1, 8193);
  peer.receive_later(PayloadKind::large, 8193);
  peer.send({PayloadKind::large, 1, 8193}, 8193, flip);
  const auto report = failure(worker);
  CHECK(report.outcome == Outcome::data_corruption);
  CHECK(report.failed_bytes == 8193);
  CHECK(report.round == 1);
}

TEST_CASE("a peer that closes at once is lost; one that closes after half the deadline timed out") {
  const auto report_after = [](std::chrono::milliseconds silence) {
    WorkerProcess worker("node-z");
    auto peer = std::make_unique<HostilePeer>(worker);
    peer->small_part(0, 0);
    peer->send({PayloadKind::token, 1, 0});
    peer->receive(PayloadKind::reply);
    std::this_thread::sleep_for(silence);  // the silence is what is tested
    peer.reset();
    return failure(worker);
  };
  CHECK(report_after(std::chrono::milliseconds(0)).outcome == Outcome::peer_lost);
  const auto late = report_after(HostilePeer::kTimeout * 5 / 8);
  CHECK(late.outcome == Outcome::timeout);
  CHECK(late.half == wire::Half::send);
}

TEST_CASE("intact payloads that do not belong here are a mismatch") {
  const auto report_on = [](const std::function<void(HostilePeer&)>& misbehave) {
    WorkerProcess worker("node-z");
    HostilePeer peer(worker);
    misbehave(peer);
    return failure(worker).outcome;
  };
  // Another sender, a skipped warm-up, a size beyond the limit, the go of another round.
  CHECK(report_on([](HostilePeer& peer) {
          peer.send(
              {PayloadKind::token, 0, 0}, 64, [](std::vector<char>&) {}, "impostor");
        }) == Outcome::mismatch);
  CHECK(report_on([](HostilePeer& peer) { peer.small_part(7, 0); }) == Outcome::mismatch);
  CHECK(report_on([](HostilePeer& peer) {
          peer.send({PayloadKind::token, 0, 1U << 30});
        }) == Outcome::mismatch);
  CHECK(report_on([](HostilePeer& peer) {
          peer.send({PayloadKind::token, 0, 0});
          peer.receive(PayloadKind::reply);
          peer.send({PayloadKind::go, 3, 0});
        }) == Outcome::mismatch);
}

TEST_CASE("a payload larger than announced aborts the library, and the worker leaves last words") {
  WorkerProcess worker("node-z");
  HostilePeer peer(worker);
  peer.small_part(0, 0);
  peer.small_part(1, 1025);
  peer.send({PayloadKind::large, 1, 8193}, 8193);
  CHECK(worker.await_exit() == -SIGABRT);
  CHECK_THAT(worker.await<wire::WorkerError>().text,
             Catch::Matchers::ContainsSubstring("op.preamble.length <= op.nbytes"));
}
