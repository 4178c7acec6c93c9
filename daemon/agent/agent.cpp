// SPDX-License-Identifier: Apache-2.0
//
// The acting half of the agent: start, rounds, the worker, reload.
#include "daemon/agent/agent.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>

#include "daemon/agent/incarnation.h"
#include "daemon/config/load.h"
#include "daemon/schedule/schedule.h"

namespace collwatch::agent {

using base::Clock;
using base::Millis;
using base::TimePoint;
using model::Result;

namespace {

int family_of(const config::Config& config) {
  if (config.network.family == "ipv4") return AF_INET;
  if (config.network.family == "ipv6") return AF_INET6;
  return AF_UNSPEC;
}

double page_score(const config::Config& config) {
  return state::page_threshold(static_cast<std::uint32_t>(config.membership.members.size()),
                               std::chrono::duration<double>(config.edge.interval).count());
}

std::vector<std::string> names_of(const std::vector<config::Member>& members) {
  std::vector<std::string> names;
  for (const config::Member& member : members) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  return names;
}

attribute::HealthLimits health_limits(const config::Config& config) {
  attribute::HealthLimits limits;
  limits.late = config.edge.timeout / 5;
  return limits;
}

/// Changes when the file is written or replaced; 0 when it is not there.
std::int64_t file_stamp(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return 0;
  return info.st_mtim.tv_sec * 1000000000LL + info.st_mtim.tv_nsec +
         static_cast<std::int64_t>(info.st_ino);
}

}  // namespace

Agent::Agent(base::EventLoop& loop, config::Config config, Options options)
    : loop_(loop),
      config_(std::move(config)),
      options_(std::move(options)),
      incarnation_(make_incarnation()),
      started_at_(Clock::now()),
      ledger_(config_.node),
      resolver_(family_of(config_)),
      clock_(config_.edge.interval, started_at_, std::chrono::system_clock::now()),
      health_(health_limits(config_)),
      tracker_(names_of(config_.membership.members), page_score(config_)),
      around_(loop_, config_) {
  around_.to_worker = [this](const wire::ToWorker& message) { return worker_->send(message); };
  around_.worker_running = [this] { return worker_->running(); };
  around_.build = [this] { return worker_->build(); };
  around_.identity = [this] { return identity(); };
  around_.request_to = [this](const std::string& peer) { return request_to(peer); };
  around_.next_number = [this] { return ++numbers_; };
  around_.address = [this](const std::string& peer) { return resolver_.address(peer); };
  around_.round = [this] { return round_; };
  around_.pair = [this](const std::string& peer) {
    return schedule::Pair{board_.self(), board_.index(peer).value_or(0)};
  };
  around_.any_path_weak = [this] { return any_path_weak(); };
  around_.stretch = [this] { return health_.stretch(); };
  around_.met = [this](const peer::Identity& who, std::optional<Millis> round_trip) {
    on_identity(who, "", round_trip);
  };
  around_.changed = [this](bool first_failure) {
    if (first_failure) send_witnesses(false);
    evaluate_soon();
  };
  around_.failed = [this](const std::string& peer) { facts_[peer].loss.forget_recent(); };
  around_.count = [this](model::Outcome outcome, std::optional<double> round_trip) {
    ledger_.count_edge(outcome, round_trip);
  };
  around_.misconfig = [this](const std::string& peer, model::Reason reason,
                             const std::string& text) {
    auto& found = misconfigs_[{peer, reason}];
    if (found.text != text) ledger_.note("config", std::string(model::name(reason)), text);
    found = Misconfig{reason, text, Clock::now()};
  };
}

Agent::~Agent() {
  for (const auto timer : {tick_timer_, half_timer_, evaluate_timer_, memory_timer_})
    loop_.cancel(timer);
}

Result<std::unique_ptr<Agent>> Agent::create(base::EventLoop& loop, config::Config config,
                                             Options options) {
  std::unique_ptr<Agent> agent(new Agent(loop, std::move(config), std::move(options)));
  if (auto started = agent->start(); !started) return model::fail(started.error());
  return agent;
}

void Agent::make_group_link() {
  GroupLink::Handlers group;
  group.ran = [this](const exporters::CollectiveResult& result) {
    ledger_.count_collective(
        result, *std::max_element(config_.gloo.sizes.begin(), config_.gloo.sizes.end()));
  };
  group.formed = [this](model::Outcome outcome, double seconds) {
    ledger_.count_rendezvous("agent", outcome, seconds);
  };
  group.accused = [this](const std::vector<std::string>& members,
                         const wire::GroupAccusations& words) {
    accusations_.add(Clock::now(), members, words.wrong_from);
  };
  group.skipped = [this](model::SkipReason reason) { ledger_.count_skip("gloo", reason); };
  group_ = std::make_unique<GroupLink>(around_, incarnation_, std::move(group));
}

Result<void> Agent::start() {
  auto server =
      peer::Server::create(loop_, config_.peers.listen, config_.peers.token,
                           [this](const peer::Request& request, const peer::Address& local,
                                  const peer::Address& remote, peer::Server::Responder respond) {
                             on_request(request, local, remote, std::move(respond));
                           });
  if (!server) return model::fail(server.error());
  server_ = std::move(*server);
  auto witness = peer::WitnessSocket::create(
      loop_, config_.peers.listen, config_.peers.token,
      [this](const peer::WitnessMessage& message, const peer::Address& from) {
        on_witness(message, from.host(), true);
      },
      config_.node);
  if (!witness) return model::fail(witness.error());
  witness_ = std::move(*witness);
  if (!config_.events.path.empty()) {
    auto log = exporters::EventLog::open(config_.events.path, config_.events.max_bytes);
    if (!log) return model::fail(log.error());
    ledger_.set_event_log(std::move(*log));
  }

  WorkerLink::Handlers handlers;
  handlers.up = [this] { on_worker_up(); };
  handlers.down = [this](model::Reason reason, const std::string& why) {
    on_worker_down(reason, why);
  };
  handlers.message = [this](const wire::FromWorker& message) { on_worker_message(message); };
  handlers.unreaped = [this](int count) { unreaped_ = count; };
  worker_ = std::make_unique<WorkerLink>(loop_, options_.worker_executable, config_.node,
                                         std::move(handlers));
  make_group_link();
  make_nccl_link();
  make_watch_link();
  make_c10d_link();
  set_members();
  make_store_link();
  turned_at_ns_ = Clock::now().time_since_epoch().count();
  publish();
  worker_->start();
  watch_->watch(config_.watch);
  watch_memory();
  if (config_.c10d.mode != "never") c10d_->start();
  for (auto& [name, link] : links_) link->greet();
  schedule_tick();
  return {};
}

void Agent::set_members() {
  resolver_.set(config_.membership.members);
  std::vector<std::string> names = names_of(config_.membership.members);
  view_hash_ = schedule::view_hash(names);
  tracker_.set_members(names, page_score(config_));
  for (auto link = links_.begin(); link != links_.end();) {
    const bool stays = std::binary_search(names.begin(), names.end(), link->first);
    if (stays) {
      ++link;
      continue;
    }
    witness_->forget(link->first);
    clock_.forget(link->first);
    cookies_.forget(link->first);
    facts_.erase(link->first);
    shown_states_.erase(link->first);
    link = links_.erase(link);
  }
  for (const std::string& name : names) {
    if (name == config_.node || links_.contains(name)) continue;
    links_.emplace(name, std::make_unique<PeerLink>(around_, name));
  }
  board_.set_members(std::move(names), config_.node, config_.edge.interval);
  member_file_stamp_ = file_stamp(config_.membership.file);
}

void Agent::schedule_tick() {
  const TimePoint next = clock_.next_round_start(Clock::now());
  tick_timer_ = loop_.at(next, [this] { tick(); });
  half_timer_ = loop_.at(next + config_.edge.interval / 2, [this] { half_tick(); });
}

void Agent::tick() {
  const TimePoint now = Clock::now();
  turned_at_ns_ = now.time_since_epoch().count();
  const bool any_open = std::any_of(links_.begin(), links_.end(),
                                    [](const auto& link) { return link.second->open(); });
  clock_.adjust(now, !any_open);
  // A millisecond of slack: the timer may fire a hair before the boundary it was set for.
  const std::int64_t round = clock_.round(now + Millis(2));
  if (round < round_) {
    // The cluster's clock is behind ours by whole rounds: what we noted is numbered in a time that
    // nobody else uses.
    for (auto& [name, link] : links_) link->history().forget();
  }
  if (round == round_) {
    // A small step back: this round has been run already.
    schedule_tick();
    return;
  }
  round_ = round;
  round_began_ = now;
  update_health(now);
  for (auto& [name, link] : links_) {
    facts_[name].loss.tick(link->open() && !link->history().failing());
    link->on_round(round, now);
  }
  send_round(round);
  send_witnesses(false);
  std::vector<std::string> eligible{config_.node};
  for (const auto& [name, link] : links_) {
    if (link->open() && same_view(name)) eligible.push_back(name);
  }
  std::sort(eligible.begin(), eligible.end());
  group_->on_round(round, eligible, view_hash_);
  nccl_->on_round(round, eligible, view_hash_);
  rounds_done_ = rounds_done_ || (worker_->running() && round_ > 0 && round_ > first_round_);
  if (first_round_ == 0) first_round_ = round_;
  share_versions();
  count_probes();
  warn(now);
  evaluate();
  count_clean();
  check_member_file();
  if (options_.turned) options_.turned(rounds_done_);
  schedule_tick();
}

/// Rounds on end in which all was well, as far as this node can see.
void Agent::count_clean() {
  int seen = 0;
  bool clean = verdicts_.empty();
  for (const auto& [name, link] : links_) {
    if (link->left() || !link->joined()) continue;
    const EdgeHistory& history = link->history();
    const bool fresh = history.latest() && round_ - history.last_round() <= 3;
    clean = clean && fresh && !history.failing();
    ++seen;
  }
  clean_rounds_ = clean && seen > 0 ? clean_rounds_ + 1 : 0;
}

void Agent::half_tick() {
  for (auto& [name, link] : links_) {
    facts_[name].loss.tick(link->open() && !link->history().failing());
  }
  send_witnesses(false);
  evaluate_soon();
}

void Agent::count_probes() {
  const peer::WitnessSocket::Stats& seen = witness_->stats();
  ledger_.count_witness("sent", "ok", seen.sent);
  ledger_.count_witness("sent", "failed", seen.send_failed);
  ledger_.count_witness("received", "ok", seen.received);
  ledger_.count_witness("received", "bad_mac", seen.bad_mac);
  ledger_.count_witness("received", "replayed", seen.replayed);
  ledger_.count_witness("received", "unknown_sender", seen.unknown_sender);
  ledger_.count_witness("received", "malformed", seen.malformed);
  if (!worker_->unavailable().empty()) {
    ledger_.count_skip("gloo", model::SkipReason::not_installed);
  }
  for (const auto& [name, link] : links_) {
    if (witness_missing(*link)) ledger_.count_skip("witness", model::SkipReason::unavailable);
  }
}

/// What an operator would otherwise search for: tokens that differ, names that do not resolve.
void Agent::warn(TimePoint now) {
  const std::uint64_t bad = server_->stats().bad_token + witness_->stats().bad_mac;
  if (bad > warned_bad_tokens_ && now - warned_at_ > std::chrono::seconds(60)) {
    ledger_.note("config", "bad_token",
                 std::to_string(bad - warned_bad_tokens_) +
                     " messages on the peer port were not signed with this node's token: does "
                     "every member have the same one?");
    warned_bad_tokens_ = bad;
    warned_at_ = now;
  }
  if (now - started_at_ < std::chrono::seconds(3)) return;
  for (const auto& [name, link] : links_) {
    if (link->joined() || resolver_.address(name) || !warned_names_.insert(name).second) continue;
    ledger_.note("config", "unresolved", "member " + name + ": " + resolver_.trouble(name));
  }
}

void Agent::check_member_file() {
  if (config_.membership.file.empty()) return;
  const std::int64_t stamp = file_stamp(config_.membership.file);
  if (stamp == member_file_stamp_) return;
  member_file_stamp_ = stamp;
  auto members = config::load_members(config_.membership.file, config_.node);
  if (!members) {
    reload_failed(members.error().text);
    return;
  }
  config::Config fresh = config_;
  fresh.membership.members = std::move(*members);
  reload(std::move(fresh));
}

}  // namespace collwatch::agent
