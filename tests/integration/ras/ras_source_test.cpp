// SPDX-License-Identifier: Apache-2.0
//
// The watcher's source against the stand-in: whom it asks, how often, what it tells. Time between
// questions is passed in; within one it is real.
#include "daemon/watch/ras_source.h"

#include <unistd.h>

#include "tests/support/ras_server.h"
#include "tests/unit/ras/cases.h"

using namespace collwatch;
using namespace ras_cases;
using Catch::Matchers::ContainsSubstring;
using model::Fingerprint;
using test::RasDeed;
using test::RasServer;

namespace {

processes::ProcessReport job_here(const std::string& version, std::uint16_t port) {
  processes::ProcessReport report;
  processes::Process rank;
  rank.pid = 70001;
  rank.inner_pid = 30001;
  rank.state = 'S';
  rank.identity.job = "slurm:7";
  rank.identity.rank = 1;
  rank.own_network = true;
  rank.libraries.push_back({"nccl", "/l/libnccl.so.2", version});
  rank.listeners.emplace_back("127.0.0.1", port);
  report.processes.push_back(rank);
  processes::Job job;
  job.job = "slurm:7";
  job.ranks = {0, 1};
  job.world_size = 8;
  job.backend = processes::Backend::nccl;
  report.jobs.push_back(job);
  return report;
}

class Watching {
 public:
  Watching(const RasServer& server, const std::string& version, const std::string& mode = "safe")
      : here(job_here(version, server.port())) {
    plan_.ras_mode = mode;
    plan_.ras_host = "127.0.0.1";
    plan_.ras_port = server.port();
    make({});
  }

  /// As after the end of one watcher and the start of the next.
  void make(const std::vector<std::string>& left) {
    watch::RasSource::Options options;
    options.processes = [this] { return &here; };
    source = std::make_unique<watch::RasSource>(
        std::move(options), [this](const wire::FromWatcher& message) {
          if (const auto* finding = std::get_if<wire::Finding>(&message)) told.push_back(*finding);
        });
    plan_.ras_left = left;
    source->set_plan(plan_);
  }
  void set_mode(const std::string& mode) {
    plan_.ras_mode = mode;
    source->set_plan(plan_);
  }

  /// Lets `seconds` go by, then looks until nothing is being asked.
  std::vector<wire::Finding> look_after(int seconds) {
    told.clear();
    passed_ += std::chrono::seconds(seconds);
    const auto give_up = base::Clock::now() + std::chrono::seconds(60);
    while (source->look(base::Clock::now() + passed_) < base::Millis(100)) {
      REQUIRE(base::Clock::now() < give_up);
      usleep(1000);
    }
    return told;
  }
  std::string why() const { return beat().ras; }
  wire::Heartbeat beat() const {
    wire::Heartbeat heartbeat;
    source->add_to(heartbeat);
    return heartbeat;
  }

  processes::ProcessReport here;
  std::unique_ptr<watch::RasSource> source;
  std::vector<wire::Finding> told;

 private:
  wire::WatchPlan plan_;
  base::Clock::duration passed_{};
};

}  // namespace

TEST_CASE("a rank that stands behind becomes a finding of its job; twice a minute at most") {
  const RasServer server(RasDeed::answer, text_of("lagging_2.30.7.json"));
  Watching watching(server, "2.30.7");
  CHECK(watching.look_after(0).empty());
  CHECK(watching.why().empty());
  for (int i = 0; i < 3; ++i) CHECK(watching.look_after(5).empty());
  CHECK(server.connections() == 1);
  CHECK(watching.look_after(20).empty());
  CHECK(server.connections() == 2);
  const auto told = watching.look_after(31);
  CHECK(server.connections() == 3);
  REQUIRE(told.size() == 1);
  CHECK(told[0].fingerprint == Fingerprint::nccl_watchdog_timeout);
  CHECK(told[0].source == model::Source::ras);
  CHECK(told[0].role == "initiating");
  CHECK(told[0].rank == 5);
  CHECK(told[0].job == "slurm:7");
}

TEST_CASE("an older NCCL is left alone once a process was missing, also by the next watcher") {
  const RasServer server(RasDeed::answer, text_of("missing_2.28.9.json"));
  Watching watching(server, "2.28.9");
  const auto told = watching.look_after(0);
  REQUIRE(told.size() == 1);
  CHECK(told[0].fingerprint == Fingerprint::nccl_remote_error);
  CHECK(told[0].rank == 5);
  CHECK(watching.look_after(60).empty());
  CHECK(server.connections() == 1);
  CHECK_THAT(watching.why(), ContainsSubstring("could crash NCCL 2.28.9"));
  const auto left = watching.beat().ras_left;
  CHECK(left == std::vector<std::string>{"slurm:7"});
  watching.make(left);
  watching.look_after(60);
  CHECK(server.connections() == 1);
  // Another job of that name, once this one is gone.
  const auto job = watching.here;
  watching.here = {};
  watching.look_after(60);
  watching.here = job;
  watching.look_after(60);
  CHECK(server.connections() == 2);
}

TEST_CASE("what is sound is asked again and again") {
  const RasServer server(RasDeed::answer, text_of("missing_2.30.7.json"));
  Watching watching(server, "2.30.7");
  CHECK(watching.look_after(0).empty());
  CHECK(watching.look_after(31).empty());
  CHECK(watching.look_after(31).size() == 1);
  CHECK(watching.beat().ras_left.empty());
}

TEST_CASE("not asked: why stands in the heartbeat") {
  const RasServer server(RasDeed::answer, text_of("healthy_2.30.7.json"));
  Watching watching(server, "2.28.9");
  watching.here.processes[0].state = 'T';
  watching.look_after(0);
  CHECK_THAT(watching.why(), ContainsSubstring("gone or stopped"));
  watching.here.processes[0].state = 'S';
  watching.here.processes[0].listeners[0].second = 1;
  watching.look_after(31);
  CHECK_THAT(watching.why(), ContainsSubstring("holds the port"));
  watching.here.jobs[0].ranks = {1};
  watching.here.processes[0].listeners[0] = {"::", server.port()};
  watching.look_after(31);
  CHECK_THAT(watching.why(), ContainsSubstring("asked by the node that has its rank 0"));
  watching.here.jobs[0].missing = {0};
  watching.here.processes[0].libraries[0].version = "2.30.7";
  CHECK(server.connections() == 0);
  watching.look_after(31);
  CHECK(server.connections() == 1);
  CHECK(watching.why().empty());
  watching.set_mode("never");
  watching.look_after(60);
  CHECK(server.connections() == 1);
  watching.set_mode("always");
  watching.here.processes[0].libraries[0].version = "";
  watching.look_after(60);
  CHECK(server.connections() == 2);
}

TEST_CASE("a connection that lands on a stopped process is made again") {
  const RasServer server(RasDeed::stop_first, text_of("dead_2.30.7.json"));
  Watching watching(server, "2.30.7");
  const auto told = watching.look_after(0);
  CHECK(server.connections() == 2);
  REQUIRE(told.size() == 1);
  CHECK(told[0].rank == 5);
}

TEST_CASE("nobody but stopped processes: three tries, and told") {
  const RasServer server(RasDeed::say_nothing, "");
  Watching watching(server, "2.30.7");
  CHECK(watching.look_after(0).empty());
  CHECK(server.connections() == 3);
  CHECK_THAT(watching.why(), ContainsSubstring("3 times"));
}

TEST_CASE("a stranger on the port is told and nothing is concluded") {
  const RasServer server(RasDeed::wrong_hello, "");
  Watching watching(server, "2.30.7");
  CHECK(watching.look_after(0).empty());
  CHECK_THAT(watching.why(), ContainsSubstring("220 mail"));
  const RasServer cut(RasDeed::cut, text_of("dead_2.30.7.json"));
  Watching other(cut, "2.30.7");
  CHECK(other.look_after(0).empty());
  CHECK_THAT(other.why(), ContainsSubstring("not used: it ends before its end"));
}
