// SPDX-License-Identifier: Apache-2.0
//
// Each animal of the zoo, and what the daemon's side is told of it: words, output, and its own way
// to end. Killing is in kill_test.cpp.
#include "tests/integration/supervise/zoo.h"

using namespace zoo;

TEST_CASE("a well behaved worker greets, acknowledges rounds and stops when asked") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.start({"on start hello", "on round ack + report n1 ok", "on stop exit 0", "serve"});
  CHECK(keeper.worker->phase() == WorkerPhase::starting);
  REQUIRE(keeper.worker->send(wire::Start{wire::kProtocolVersion, "n0"}));
  REQUIRE(keeper.until<wire::Hello>());
  CHECK(keeper.worker->phase() == WorkerPhase::running);
  CHECK(std::get<wire::Hello>(keeper.messages[0]).pid == keeper.worker->pid());

  for (std::int64_t round = 7; round < 10; ++round) {
    REQUIRE(keeper.worker->send(wire::Round{round, 500, {}}));
  }
  REQUIRE(keeper.until<wire::EdgeReport>(3));
  CHECK(std::get<wire::RoundAck>(keeper.messages[1]).number == 7);
  CHECK(std::get<wire::EdgeReport>(keeper.messages[6]).round == 9);

  REQUIRE(keeper.worker->send(wire::Stop{}));
  REQUIRE(keeper.until_ended());
  CHECK(keeper.ends == std::vector<ExitFact>{Exited{0}});
  CHECK(keeper.worker->phase() == WorkerPhase::ended);
  CHECK(keeper.errors.empty());
  CHECK(keeper.worker->kill_reason().empty());
  CHECK_FALSE(keeper.worker->send(wire::Stop{}));
  CHECK(childless());
}

TEST_CASE("each way to end by itself is told as it was") {
  const std::vector<std::pair<std::string, ExitFact>> ways = {{"exit 0", Exited{0}},
                                                              {"exit 3", Exited{3}},
                                                              {"exit 255", Exited{255}},
                                                              {"crash", Signalled{SIGSEGV, false}},
                                                              {"abort", Signalled{SIGABRT, false}}};
  for (const auto& [verb, expected] : ways) {
    auto loop = EventLoop::create().value();
    Keeper keeper(*loop);
    keeper.start({"hello", verb});
    REQUIRE(keeper.until_ended());
    INFO(verb << ": " << describe(keeper.ends[0]));
    CHECK(keeper.ends == std::vector<ExitFact>{expected});
    CHECK(keeper.count<wire::Hello>() == 1);
    CHECK(keeper.errors.empty());
  }
}

TEST_CASE(
    "what a worker said before it died is delivered before its end, also when it had not "
    "read what we sent") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  bool ended_last = false;
  auto handlers = keeper.handlers();
  handlers.ended = [&](const ExitFact& fact) {
    ended_last = keeper.count<wire::RoundAck>() == 200;
    keeper.ends.push_back(fact);
  };
  auto spawned = Worker::spawn(
      *loop, keeper.options({"await start", "flood_packets 200", "last_words good night", "abort"}),
      handlers);
  REQUIRE(spawned);
  keeper.worker = std::move(*spawned);
  REQUIRE(keeper.worker->send(wire::Start{}));
  // Left unread in its queue: its death then resets the channel, ahead of its last packets.
  for (int i = 0; i < 20; ++i) REQUIRE(keeper.worker->send(wire::Round{i, 500, {}}));
  REQUIRE(turn_until(*loop, [&] { return dead(keeper.worker->pid()) || !keeper.ends.empty(); }));
  REQUIRE(keeper.until_ended());
  CHECK(ended_last);
  CHECK(keeper.count<wire::WorkerError>() == 1);
  CHECK(keeper.ends == std::vector<ExitFact>{Signalled{SIGABRT, false}});
}

TEST_CASE("words that are none of ours are named and are not fatal") {
  for (const char* verb : {"garbage_packet", "oversized_packet", "wrong_type", "unknown_type"}) {
    auto loop = EventLoop::create().value();
    Keeper keeper(*loop);
    keeper.start({"hello", verb, "ack", "serve"});
    INFO(verb);
    REQUIRE(keeper.until<wire::RoundAck>());
    CHECK(keeper.errors.size() == 1);
    CHECK_FALSE(keeper.errors.at(0).empty());
    CHECK(keeper.worker->phase() == WorkerPhase::running);
  }
}

TEST_CASE("another protocol version is a protocol error and no Hello") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.start({"hello_wrong_version", "serve"});
  REQUIRE(keeper.until_error());
  CHECK(keeper.errors.at(0).find("version 99") != std::string::npos);
  CHECK(keeper.count<wire::Hello>() == 0);
  CHECK(keeper.worker->phase() == WorkerPhase::starting);
}

TEST_CASE("two reports and lies about time are passed on: judging them is the caller's part") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.start({"hello", "await round", "two_reports", "clock_lie", "serve"});
  REQUIRE(keeper.worker->send(wire::Round{5, 500, {}}));
  REQUIRE(keeper.until<wire::EdgeReport>(2));
  REQUIRE(keeper.until<wire::RoundAck>());
  CHECK(keeper.errors.empty());
}

TEST_CASE("a worker that closes its channel and lives on is named after a while") {
  for (const char* verb : {"close_channel", "empty_packet"}) {
    auto loop = EventLoop::create().value();
    Keeper keeper(*loop);
    keeper.start({"hello", verb, "hang"});
    INFO(verb);
    REQUIRE(keeper.until_error());
    CHECK(keeper.errors.at(0).find("closed its channel") != std::string::npos);
    CHECK(keeper.ends.empty());
    CHECK_FALSE(keeper.worker->send(wire::Stop{}));
    keeper.worker->kill("closed its channel");
    REQUIRE(keeper.until_ended());
    CHECK(std::holds_alternative<KilledByUs>(keeper.ends.at(0)));
    CHECK(keeper.errors.size() == 1);
  }
}

TEST_CASE("a worker that closes its channel just before it ends is not complained about") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.grace = 5s;
  keeper.start({"hello", "close_channel", "sleep 50", "exit 4"});
  REQUIRE(keeper.until_ended());
  CHECK(keeper.errors.empty());
  CHECK(keeper.ends == std::vector<ExitFact>{Exited{4}});
}

TEST_CASE("the tail holds the last bytes of both outputs, also of a flood") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  SECTION("little") {
    keeper.start({"print hello world", "no_such_verb"});  // complains on stderr
    REQUIRE(keeper.until_ended());
    CHECK(keeper.worker->output_tail() == "hello world\nfake_worker: cannot do 'no_such_verb'\n");
    CHECK(keeper.ends == std::vector<ExitFact>{Exited{64}});
  }
  SECTION("much more than pipe and tail hold") {
    keeper.start({"flood_stdout 3000000", "print the end"});
    REQUIRE(keeper.until_ended());
    const std::string& tail = keeper.worker->output_tail();
    CHECK(tail.size() == 8192);
    CHECK(tail.substr(tail.size() - 9) == "fthe end\n");
    CHECK(keeper.ends == std::vector<ExitFact>{Exited{0}});
  }
}

TEST_CASE("floods of packets and output starve neither the loop nor another worker") {
  auto loop = EventLoop::create().value();
  Keeper loud(*loop);
  Keeper noisy(*loop);
  Keeper quiet(*loop);
  loud.start({"hello", "flood_packets 100000000"});
  noisy.start({"hello", "flood_stdout forever"});
  quiet.start({"hello", "on round ack", "serve"});
  REQUIRE(quiet.until<wire::Hello>());
  REQUIRE(loud.until<wire::RoundAck>(1000));

  for (std::int64_t round = 1; round <= 20; ++round) {
    loud.messages.clear();  // keeps the test's own memory flat
    REQUIRE(quiet.worker->send(wire::Round{round, 500, {}}));
    REQUIRE(quiet.until<wire::RoundAck>(static_cast<int>(round)));
  }
  for (Keeper* keeper : {&loud, &noisy}) {
    keeper->worker->kill("floods");
    REQUIRE(keeper->until_ended());
    CHECK(std::holds_alternative<KilledByUs>(keeper->ends[0]));
    CHECK(keeper->worker->output_tail().size() <= 8192);
  }
}

TEST_CASE("one turn takes a bounded number of packets, however many wait") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.start({"flood_packets 150", "stop_self"});
  REQUIRE(wait_aside([&] { return state_of(keeper.worker->pid()) == 'T'; }));
  for (const int expected : {64, 128, 150}) {
    REQUIRE(loop->turn(0ms));
    CHECK(keeper.count<wire::RoundAck>() == expected);
  }
}

TEST_CASE("a worker that does not read fills its channel: send says so at once") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.start({"hello", "hang"});
  REQUIRE(keeper.until<wire::Hello>());
  int accepted = 0;
  while (accepted < 100'000 && keeper.worker->send(wire::Round{accepted, 500, {}})) ++accepted;
  CHECK(accepted > 10);
  CHECK(accepted < 100'000);
  CHECK_FALSE(keeper.worker->send(wire::Stop{}));
}

TEST_CASE("a slow acknowledgement arrives late and in order") {
  auto loop = EventLoop::create().value();
  Keeper keeper(*loop);
  keeper.start({"hello", "on round:1 slow_ack 100", "on round:2 ack", "serve"});
  REQUIRE(keeper.worker->send(wire::Round{1, 500, {}}));
  REQUIRE(keeper.worker->send(wire::Round{2, 500, {}}));
  REQUIRE(keeper.until<wire::RoundAck>(2));
  CHECK(std::get<wire::RoundAck>(keeper.messages[1]).number == 1);
  CHECK(std::get<wire::RoundAck>(keeper.messages[2]).number == 2);
}
