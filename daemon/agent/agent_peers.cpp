// SPDX-License-Identifier: Apache-2.0
//
// The talking half of the agent: requests and datagrams of the peers, and what it sends them.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>

#include "daemon/agent/agent.h"
#include "daemon/agent/route.h"

namespace collwatch::agent {

using base::Clock;
using base::Millis;
using base::TimePoint;

namespace {

/// An edge that has worked for so many rounds without one datagram has no witness: UDP is filtered.
constexpr int kRoundsWithoutWitness = 5;

bool from_loopback(const std::string& host) {
  return host == "::1" || host.rfind("127.", 0) == 0;
}

/// The view hash as datagrams carry it: its first 32 bits.
std::uint32_t short_view(const std::string& hash) {
  return static_cast<std::uint32_t>(std::strtoull(hash.substr(0, 8).c_str(), nullptr, 16));
}

}  // namespace

bool Agent::same_view(const std::string& name) const {
  const auto facts = facts_.find(name);
  return facts != facts_.end() && facts->second.view &&
         *facts->second.view == short_view(view_hash_);
}

peer::Identity Agent::identity() const {
  peer::Identity identity;
  identity.name = config_.node;
  identity.incarnation = incarnation_;
  identity.version = COLLWATCH_VERSION;
  if (worker_) {
    identity.build = worker_->build();
    identity.worker = worker_->state();
    identity.worker_trouble = worker_->recent_trouble();
  }
  for (const config::Member& member : config_.membership.members) {
    if (member.name != config_.node) continue;
    const auto own = resolver_.address(member.name);
    if (own && own->host() == member.address.host) identity.advertised = member.address.host;
  }
  identity.view_hash = view_hash_;
  identity.interval_ms = config_.edge.interval.count();
  identity.versions = own_versions();
  const TimePoint now = Clock::now();
  identity.round_ms = clock_.round_ms(now);
  const auto wall =
      std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch());
  identity.wall_offset_ms = wall.count() - identity.round_ms;
  return identity;
}

void Agent::on_request(const peer::Request& request, const peer::Address& local,
                       const peer::Address& remote, peer::Server::Responder respond) {
  const auto refuse = [&](peer::RefusalReason reason, std::string text) {
    peer::Reply reply{.from = identity()};
    reply.body = peer::Refusal{reason, std::move(text)};
    respond(reply);
  };
  const std::string& name = request.from.name;
  if (leaving_) return refuse(peer::RefusalReason::shutting_down, "this agent is leaving");
  if (name == config_.node) {
    around_.misconfig(name, model::Reason::duplicate_name,
                      "another live agent at " + remote.host() + " is called " + name + ", too");
    return refuse(peer::RefusalReason::duplicate_name, "that name is mine");
  }
  const auto found = links_.find(name);
  if (found == links_.end()) {
    return refuse(peer::RefusalReason::unknown_member,
                  "'" + name + "' is not in the member list of " + config_.node);
  }
  if (!is_who_it_says(request, remote)) return refuse_impostor(name, remote, respond);
  respond = [this, name, answer = std::move(respond)](const peer::Reply& reply) {
    peer::Reply with_cookie = reply;
    with_cookie.from.cookie = cookies_.for_peer(name);
    answer(with_cookie);
  };
  if (!on_identity(request.from, remote.host(), std::nullopt)) {
    return refuse(peer::RefusalReason::duplicate_name,
                  "another agent of that name is alive at " + facts_[name].host);
  }
  facts_[name].advertised = request.from.advertised;
  if (!remote.is_loopback()) note_address(name, remote.host());
  PeerLink& link = *found->second;
  if (std::holds_alternative<peer::MeetPair>(request.body)) {
    link.on_meet(request, local, std::move(respond));
    return;
  }
  if (NcclLink::is_about(request)) return nccl_->on_request(request, std::move(respond));
  if (std::holds_alternative<peer::MeetGroup>(request.body) ||
      std::holds_alternative<peer::MeetGroupBlob>(request.body)) {
    group_->on_request(request, local, std::move(respond));
    return;
  }
  if (const auto* words = std::get_if<peer::WitnessMessage>(&request.body)) {
    if (words->from == name) on_witness(*words, remote.host(), false);
  }
  if (std::holds_alternative<peer::Left>(request.body)) on_peer_left(name);
  respond(peer::Reply{.from = identity()});
}

peer::Request Agent::request_to(const std::string& peer) const {
  peer::Request request{.from = identity()};
  request.from.cookie = cookies_.for_peer(peer);
  request.shows = cookies_.to_show(peer);
  return request;
}

/// It shows what only it was given, or calls from where the list says it is. Where that is a name
/// that does not resolve now, nobody can tell, and it is believed.
bool Agent::is_who_it_says(const peer::Request& request, const peer::Address& remote) const {
  if (cookies_.is_from(request.from.name, request.shows)) return true;
  const auto listed = resolver_.address(request.from.name);
  return !listed || listed->host() == remote.host();
}

/// Somebody speaks in that name from elsewhere, without the cookie. It may be the peer itself
/// (started anew, with another address than the list has): asked at its listed address it gets the
/// cookie, and is known the next time. If the one we know speaks on meanwhile, there are two of
/// them.
void Agent::refuse_impostor(const std::string& name, const peer::Address& remote,
                            const peer::Server::Responder& respond) {
  PeerLink& link = *links_.at(name);
  PeerFacts& facts = facts_[name];
  link.greet();
  if (!facts.stranger_at) facts.stranger_at = Clock::now();
  const bool two_of_them = !link.left() && facts.heard_udp && facts.host != remote.host() &&
                           *facts.heard_udp > *facts.stranger_at + config_.edge.interval;
  peer::Reply reply{.from = identity()};
  if (two_of_them) {
    around_.misconfig(
        name, model::Reason::duplicate_name,
        "two live agents are called " + name + ": " + facts.host + " and " + remote.host());
    reply.body = peer::Refusal{peer::RefusalReason::duplicate_name,
                               "another agent of that name is alive at " + facts.host};
  } else {
    reply.body = peer::Refusal{peer::RefusalReason::unknown_member,
                               "the member list has " + name + " at another address than yours"};
  }
  respond(reply);
}

bool Agent::on_identity(const peer::Identity& identity, const std::string& remote_host,
                        std::optional<Millis> round_trip) {
  const auto found = links_.find(identity.name);
  if (found == links_.end()) return true;
  PeerLink& link = *found->second;
  PeerFacts& facts = facts_[identity.name];
  const TimePoint now = Clock::now();
  const bool changed = link.incarnation() != identity.incarnation;
  const bool old_one_lives = !link.incarnation().empty() && facts.heard_udp &&
                             now - *facts.heard_udp < config_.edge.interval * 2;
  if (changed && old_one_lives && !facts.host.empty() && !remote_host.empty() &&
      facts.host != remote_host) {
    around_.misconfig(
        identity.name, model::Reason::duplicate_name,
        "two live agents are called " + identity.name + ": " + facts.host + " and " + remote_host);
    return false;
  }
  if (changed) {
    spdlog::info("met {} ({}, {})", identity.name, identity.version,
                 identity.build.empty() ? "no Gloo worker yet" : identity.build);
    facts = PeerFacts{};
  }
  link.on_incarnation(identity.incarnation);
  cookies_.keep(identity.name, identity.cookie);
  witness_->admit(identity.name, identity.incarnation, cookies_.for_peer(identity.name));
  if (!remote_host.empty()) facts.host = remote_host;
  facts.wall_offset_ms = identity.wall_offset_ms;
  facts.view = short_view(identity.view_hash);
  if (!identity.build.empty()) facts.build = identity.build;
  facts.versions = identity.versions;
  if (identity.interval_ms != 0) facts.interval_ms = identity.interval_ms;
  if (changed) {
    if (const auto unusable = link.why_unusable(identity)) {
      ledger_.note("config", std::string(model::name(unusable->reason)),
                   identity.name + ": " + unusable->text);
    }
  }
  if (round_trip) clock_.sample(identity.name, identity.round_ms, now, *round_trip);
  return true;
}

/// Calls and datagrams leave by the interface that Gloo would take, too.
void Agent::note_address(const std::string& name, const std::string& host) {
  const std::string& advertised = facts_[name].advertised;
  if (advertised.empty() || advertised == host) return;
  around_.misconfig(name, model::Reason::wrong_interface,
                    name + " is configured at " + advertised + " but comes from " + host);
}

void Agent::on_peer_left(const std::string& name) {
  const auto found = links_.find(name);
  if (found == links_.end() || found->second->left()) return;
  found->second->on_left();
  facts_[name].heard_udp.reset();  // it may come back at once, and from another address
  if (const auto index = board_.index(name)) board_.forget(*index);
  clock_.forget(name);
  evaluate_soon();
}

void Agent::on_witness(const peer::WitnessMessage& message, const std::string& from_host,
                       bool udp) {
  const auto found = links_.find(message.from);
  const auto index = board_.index(message.from);
  if (leaving_ || found == links_.end() || !index) return;
  PeerLink& link = *found->second;
  if (message.left) {
    on_peer_left(message.from);
    return;
  }
  if (link.left()) return;  // a late datagram of one that said goodbye
  const TimePoint now = Clock::now();
  PeerFacts& facts = facts_[message.from];
  if (!from_host.empty()) facts.host = from_host;
  facts.wall_offset_ms = message.wall_offset_ms;
  facts.view = message.view;
  if (udp) {
    if (!from_loopback(from_host)) note_address(message.from, from_host);
    link.history().on_heard(now);
    facts.heard_udp = now;
    facts.loss.on_heard();
    facts.last_round_ms = message.round_ms;
    facts.last_round_at = now;
    if (message.echo_round_ms) {
      const auto own = static_cast<double>(clock_.round_ms(now));
      const auto sent = static_cast<double>(*message.echo_round_ms);
      const auto there = static_cast<double>(message.round_ms);
      const auto held = static_cast<double>(message.echo_age_ms);
      const double delay = own - sent - held;
      const double offset = ((there - held - sent) + (there - own)) / 2;
      // Three whole milliseconds are subtracted from a fourth: rounding alone can make -2.
      if (delay >= -2 && delay < 500) clock_.sample_offset(message.from, offset, delay, now);
    }
  }
  board_.hear(*index, message, round_, now);
  if (const auto word = board_.word(*index, board_.self(), now);
      word && word->state == attribute::EdgeState::failing) {
    link.history().on_peer_failure(word->outcome);
  }
  if (message.worker_trouble) link.history().on_reason(*message.worker_trouble, true);
  const bool any_failing = std::any_of(
      message.edges.begin(), message.edges.end(),
      [](const auto& edge) { return edge.word.state == attribute::EdgeState::failing; });
  if (any_failing || !verdicts_.empty()) evaluate_soon();
}

peer::WitnessMessage Agent::witness_message() const {
  const TimePoint now = Clock::now();
  const attribute::ObserverReport own = own_report(now);
  const peer::Identity who = identity();
  peer::WitnessMessage message;
  message.from = config_.node;
  message.incarnation = incarnation_;
  message.round_ms = who.round_ms;
  message.wall_offset_ms = who.wall_offset_ms;
  message.round = round_;
  message.local_health = own.local_health;
  message.late = own.late;
  message.cut_off = own.cut_off;
  message.worker = who.worker;
  message.worker_trouble = who.worker_trouble;
  message.view = short_view(view_hash_);
  for (const attribute::EdgeWord& word : own.edges) {
    peer::WitnessMessage::Edge edge;
    edge.peer = peer::name_hash(board_.name(word.peer));
    edge.word = word;
    const auto heard = facts_.find(board_.name(word.peer));
    if (heard != facts_.end() && heard->second.heard_udp) {
      edge.heard_age_ms =
          std::chrono::duration_cast<Millis>(now - *heard->second.heard_udp).count();
    }
    message.edges.push_back(edge);
  }
  return message;
}

bool Agent::witness_missing(const PeerLink& link) const {
  const auto facts = facts_.find(link.peer());
  const bool ever = facts != facts_.end() && facts->second.heard_udp;
  return !ever && link.open() && link.open_rounds() >= kRoundsWithoutWitness;
}

void Agent::send_witnesses(bool left) {
  peer::WitnessMessage message = witness_message();
  message.left = left;
  const TimePoint now = Clock::now();
  for (auto& [name, link] : links_) {
    const auto to = resolver_.address(name);
    if (!to || link->incarnation().empty() || link->left()) continue;
    PeerFacts& facts = facts_[name];
    message.to = peer::name_hash(name);
    message.shows = cookies_.to_show(name);
    message.echo_round_ms.reset();
    if (facts.last_round_at != TimePoint{}) {
      message.echo_round_ms = facts.last_round_ms;
      message.echo_age_ms = std::chrono::duration_cast<Millis>(now - facts.last_round_at).count();
    }
    witness_->send(*to, message);
    if (!witness_missing(*link) || facts.call) continue;
    // UDP does not get through here: the same words over TCP, once at a time.
    peer::Request request = request_to(name);
    request.body = message;
    facts.call = peer::Call::start(
        loop_, *to, bind_address(config_, *to), config_.peers.token, std::move(request),
        Millis(300), [this, name = name](peer::CallResult) { facts_[name].call.reset(); });
  }
}

void Agent::leave(const std::string& reason, std::function<void()> done) {
  if (leaving_) return;
  send_witnesses(true);
  leaving_ = true;
  loop_.cancel(tick_timer_);
  loop_.cancel(half_timer_);
  ledger_.note("member", "left", config_.node + " is leaving: " + reason);
  // Peers must have understood before our edges die under them; they answer the TCP form.
  auto waiting = std::make_shared<int>(0);
  auto finish = std::make_shared<bool>(false);
  const auto end = [this, finish, done = std::move(done)] {
    if (std::exchange(*finish, true)) return;
    if (group_) group_->close();
    worker_->ask_to_stop();
    loop_.after(Millis(60), [this, done] {
      worker_->stop();
      watch_->stop();
      nccl_->stop();
      done();
    });
  };
  for (auto& [name, link] : links_) {
    const auto to = resolver_.address(name);
    if (!to || link->left() || !link->joined()) continue;
    peer::Request request = request_to(name);
    request.body = peer::Left{reason};
    ++*waiting;
    facts_[name].call =
        peer::Call::start(loop_, *to, bind_address(config_, *to), config_.peers.token,
                          std::move(request), Millis(300), [waiting, end](peer::CallResult) {
                            if (--*waiting == 0) end();
                          });
  }
  if (*waiting == 0) {
    end();
    return;
  }
  loop_.after(Millis(400), end);
}

}  // namespace collwatch::agent
