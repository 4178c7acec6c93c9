// SPDX-License-Identifier: Apache-2.0
//
// The demo from beginning to end, on one thread: build the lab, start the agents, wait until every
// edge is ok, inject and repair by plan while the pollers listen, sum up.
//
//   joining --all edges ok--> watching --duration, or a signal--> summed up
#include "daemon/demo/demo.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "daemon/demo/inject.h"
#include "daemon/demo/interrupt.h"
#include "daemon/demo/lab.h"
#include "daemon/demo/output.h"
#include "daemon/demo/poll.h"
#include "daemon/demo/summary.h"

namespace collwatch::demo {
namespace {

using Clock = std::chrono::steady_clock;
using model::Result;

constexpr int kExitUsage = 2;
constexpr int kExitMissed = 3;
constexpr int kMaxNodes = 8;  // one clique
constexpr int kTickMs = 50;
constexpr double kFrameSeconds = 0.25;
constexpr double kJoinSeconds = 60;
constexpr double kStandstillSeconds = 1;

int refuse(const std::string& why) {
  std::fprintf(stderr, "collwatch demo: %s\n", why.c_str());
  return kExitUsage;
}

std::string beside_this_program() {
  std::array<char, 4096> path{};
  const ssize_t n = readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string self(path.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return self.substr(0, self.rfind('/'));
}

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

class Demo {
 public:
  Demo(const Options& options, std::vector<Fault> faults, std::unique_ptr<Lab> lab)
      : options_(options),
        faults_(std::move(faults)),
        lab_(std::move(lab)),
        injector_(*lab_),
        watcher_(lab_->room(), plan_faults(faults_, options.nodes)),
        done_(faults_.size(), Step::waiting),
        output_(make_output(options.json)) {
    scene_.watcher = &watcher_;
    scene_.nodes = lab_->room();
    scene_.where = lab_->fabric() != nullptr ? "in network namespaces" : "on loopback";
    scene_.duration = seconds(options.duration);
  }

  int run() {
    if (auto ready = injector_.prepare(faults_); !ready) return refuse(ready.error().text);
    if (auto started = start_agents(); !started) return refuse(started.error().text);
    std::vector<Poller::Target> targets;
    for (int node = 0; node < lab_->room(); ++node) {
      targets.push_back({lab_->agent(node).status_url(), lab_->agent(node).place().netns});
    }
    Poller poller(std::move(targets), origin_);
    while (goes_on()) {
      sleep_a_tick();
      take(poller);
      act();
      show();
    }
    return sum_up();
  }

 private:
  enum class Step { waiting, injected, repaired };

  /// A pause of the whole host (a suspended virtual machine) looks like every fault at once: say
  /// so.
  void sleep_a_tick() {
    const double before = now();
    ::poll(nullptr, 0, kTickMs);
    const double stood = now() - before;
    if (stood < kStandstillSeconds) return;
    say(plain_note("standstill", "this host stood still for " + seconds_text(stood), Tone::bad),
        now());
  }

  double now() const { return std::chrono::duration<double>(Clock::now() - origin_).count(); }

  bool is_absent(int node) const {
    return std::any_of(faults_.begin(), faults_.end(), [node](const Fault& fault) {
      return fault.kind == FaultKind::absent && fault.node == node;
    });
  }

  Result<void> start_agents() {
    for (int node = 0; node < options_.nodes; ++node) {
      if (is_absent(node)) continue;
      if (auto started = lab_->start(node); !started) return started;
    }
    say(started_note(options_.nodes, scene_.where), now());
    if (!options_.loopback && lab_->fabric() == nullptr) {
      say(plain_note("loopback", lab_->loopback_because() + "; using loopback"), now());
    }
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      if (faults_[i].kind == FaultKind::absent) inject(i);
    }
    return {};
  }

  bool goes_on() {
    if (Interrupt::asked() || output_->broken() || !fatal_.empty()) return false;
    const auto since = watcher_.healthy_since();
    if (since) return now() - *since < scene_.duration;
    if (now() < kJoinSeconds) return true;
    fatal_ = "the ring did not become healthy within " + seconds_text(kJoinSeconds) + ": " +
             watcher_.unhealthy_because();
    return false;
  }

  void take(Poller& poller) {
    for (const Sample& sample : poller.take()) {
      const bool was_healthy = watcher_.healthy_since().has_value();
      watcher_.sample(sample);
      if (!was_healthy && watcher_.healthy_since()) announce_health(sample.at);
      for (const Change& change : watcher_.take_changes()) say(change_note(change), change.at);
    }
    for (int node = 0; node < lab_->room(); ++node) {
      complain(node, poller.complaint(node));
      const std::string ended = lab_->agent(node).unexpected_end();
      if (ended.empty() || deaths_.contains(node)) continue;
      deaths_[node] = ended;
      say(plain_note("died", ended, Tone::bad), now());
      // Before the ring is up this is no incident but a lab that cannot work.
      if (!watcher_.healthy_since()) fatal_ = ended;
    }
  }

  void complain(int node, const std::string& complaint) {
    if (complaint.empty() || complaint == complaints_[node]) return;
    complaints_[node] = complaint;
    say(plain_note("complaint", node_name(node) + ": " + complaint, Tone::bad), now());
  }

  void announce_health(double at) {
    int running = 0;
    for (int node = 0; node < options_.nodes; ++node) running += is_absent(node) ? 0 : 1;
    say(healthy_note(running * (running - 1), at), at);
  }

  /// Injects and repairs what is due.
  void act() {
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      const Fault& fault = faults_[i];
      const auto base =
          fault.kind == FaultKind::absent ? std::optional<double>(0) : watcher_.healthy_since();
      if (!base) continue;
      const double start = fault.kind == FaultKind::absent ? 0 : *base + seconds(fault.start);
      if (done_[i] == Step::waiting && now() >= start) {
        inject(i);
      }
      const bool due = fault.duration && now() >= start + seconds(*fault.duration);
      if (done_[i] != Step::injected || !due) continue;
      done_[i] = Step::repaired;
      watcher_.repaired(i, now());
      say(repaired_note(fault), now());
      if (auto done = injector_.repair(fault); !done) failed(i, done.error());
    }
    if (!settled_ && !faults_.empty() && watcher_.settled()) {
      settled_ = true;
      say(plain_note("settled", "every fault is over and cleared", Tone::good), now());
    }
  }

  void inject(std::size_t i) {
    const Fault& fault = faults_[i];
    done_[i] = Step::injected;
    watcher_.injected(i, now());
    if (auto done = injector_.inject(fault); !done) {
      done_[i] = Step::repaired;  // there is nothing to undo
      return failed(i, done.error());
    }
    say(injected_note(fault), *watcher_.report().faults[i].injected_at);
  }

  /// A fault that cannot be (a second one on a node that is dead already) is a result, not the end
  /// of the demo: the others go on, and the summary says so.
  void failed(std::size_t i, const model::Error& error) {
    watcher_.failed(i, error.text);
    say(plain_note("failed", faults_[i].spec + " was not possible: " + error.text, Tone::bad),
        now());
  }

  void say(Note note, double at) {
    if (const auto since = watcher_.healthy_since()) note.at = at - *since;
    output_->note(note);
    scene_.notes.push_back(std::move(note));
  }

  void show() {
    scene_.now = now();
    if (scene_.now - shown_at_ < kFrameSeconds) return;
    shown_at_ = scene_.now;
    output_->frame(scene_);
  }

  int sum_up() {
    scene_.now = now();
    output_->frame(scene_);
    std::vector<std::string> misses = watcher_.report().misses;
    for (const auto& [node, death] : deaths_) misses.push_back(death);
    if (!fatal_.empty() && deaths_.empty()) misses.push_back(fatal_);
    const auto since = watcher_.healthy_since();
    std::string said = "the ring never became healthy.";
    if (since) said = sentence(watcher_, *since, now() - *since);
    if (!misses.empty()) misses.push_back("the agents' logs are in " + lab_->keep_logs());
    output_->finish(said, misses, summary_json(watcher_));
    return misses.empty() ? 0 : kExitMissed;
  }

  const Options& options_;
  std::vector<Fault> faults_;
  std::unique_ptr<Lab> lab_;
  Injector injector_;
  Clock::time_point origin_ = Clock::now();
  Watcher watcher_;
  std::vector<Step> done_;
  std::unique_ptr<Output> output_;
  Scene scene_;
  double shown_at_ = -1;
  bool settled_ = false;
  std::string fatal_;                  ///< why there is no point in going on
  std::map<int, std::string> deaths_;  ///< agents that ended unasked
  std::map<int, std::string> complaints_;
};

}  // namespace

int run(const Options& options) {
  if (options.nodes < 2 || options.nodes > kMaxNodes) {
    return refuse("--nodes must be 2 to " + std::to_string(kMaxNodes));
  }
  auto faults = parse_faults(options.faults, options.nodes);
  if (!faults) return refuse(faults.error().text);
  const int room = most_nodes(*faults, options.nodes);
  if (options.base_port < 1 || options.base_port + 2 * room > 65535) {
    return refuse("--base-port leaves no room for " + std::to_string(room) + " agents");
  }
  auto network = Network::parse(options.network);
  if (!network) return refuse("--network: " + network.error().text);
  Ground ground{options.nodes, !options.loopback, options.duration};
  if (auto possible = check_ground(*faults, ground); !possible) {
    return refuse(possible.error().text);
  }
  const Interrupt interrupt;
  LabOptions lab_options;
  lab_options.nodes = options.nodes;
  lab_options.room = room;
  lab_options.network = *network;
  lab_options.loopback = options.loopback;
  lab_options.base_port = options.base_port;
  lab_options.bin_dir = options.bin_dir.empty() ? beside_this_program() : options.bin_dir;
  auto lab = Lab::create(lab_options);
  if (!lab) return refuse(lab.error().text);
  // Only now it is known whether there are namespaces.
  ground.namespaces = (*lab)->fabric() != nullptr;
  if (auto possible = check_ground(*faults, ground); !possible) {
    return refuse(possible.error().text + " (" + (*lab)->loopback_because() + ")");
  }
  return Demo(options, *std::move(faults), *std::move(lab)).run();
}

}  // namespace collwatch::demo
