// SPDX-License-Identifier: Apache-2.0
//
// When, and with whom; what came of it is in nccl_results.cpp.
#include "daemon/agent/nccl_link.h"

#include <algorithm>
#include <utility>

#include "daemon/agent/nccl_ladder.h"
#include "daemon/agent/route.h"

namespace collwatch::agent {

using base::Clock;
using base::Millis;
using model::SkipReason;

namespace {

constexpr peer::Ticket kSelf = 0;
constexpr Millis kCallDeadline{700};
/// A meeting's group and its contexts are told apart from those of the Gloo group by this.
constexpr const char* kMark = "nccl-";
/// The worker has its own guard at its timeout; the daemon steps in a little later.
constexpr Millis kSlack{1500};
constexpr Millis kEndingDeadline{2000};
/// Preflight: all members look for a common moment so often.
constexpr std::int64_t kPreflightEvery = 10;
/// A failed probe is tried once more after so many timeouts, so that it can be believed or not.
constexpr int kRetryAfterTimeouts = 6;

bool is_marked(const std::string& text) {
  return text.rfind(kMark, 0) == 0;
}

}  // namespace

NcclLink::NcclLink(PeerLinkSurroundings& surroundings, const std::string& incarnation,
                   std::string executable, Handlers handlers)
    : around_(surroundings),
      handlers_(std::move(handlers)),
      ids_(kMark + incarnation),
      meeting_(ids_),
      worker_(around_.loop, std::move(executable), worker_handlers()) {}

NcclLink::~NcclLink() {
  stop();
}

void NcclLink::stop() {
  around_.loop.cancel(meeting_timer_);
  call_.reset();
  worker_.stop();
  state_ = State::idle;
}

std::int64_t NcclLink::rounds(Millis time) const {
  const auto interval = around_.config.edge.interval;
  return std::max<std::int64_t>(1, (time + interval - Millis(1)) / interval);
}

bool NcclLink::is_due(std::int64_t round, std::size_t eligible) const {
  const auto& nccl = around_.config.nccl;
  if (nccl.mode == "preflight") {
    const bool all_here = eligible == around_.config.membership.members.size();
    const bool waited = Clock::now() - started_at_ > around_.config.membership.join_grace;
    return !preflight_done_ && (all_here || waited) && round % kPreflightEvery == 0;
  }
  const bool again = failed_runs_ == 1 && round % rounds(kRetryAfterTimeouts * nccl.timeout) == 0;
  return again || round % rounds(nccl.interval) == 0;
}

bool NcclLink::may_run(std::string& why_not, SkipReason& reason) const {
  if (around_.config.nccl.mode == "always") return true;
  const Jobs jobs = handlers_.jobs();
  reason = jobs.known ? SkipReason::job_running : SkipReason::unavailable;
  why_not = jobs.known ? "a training process is here" : "nobody knows whether a job runs here";
  return jobs.known && !jobs.running;
}

void NcclLink::on_round(std::int64_t round, const std::vector<std::string>& eligible,
                        const std::string& view_hash) {
  round_ = round;
  view_hash_ = view_hash;
  if (around_.config.nccl.mode == "never") {
    if (state_ != State::idle && state_ != State::ending) worker_.kill("probes.nccl.mode is never");
    forget_failure();
    odd_.clear();
    return;
  }
  // Who comes back may have been repaired meanwhile.
  odd_.erase(std::remove_if(odd_.begin(), odd_.end(),
                            [&](const std::string& name) {
                              return !std::binary_search(eligible.begin(), eligible.end(), name);
                            }),
             odd_.end());
  std::string why_not;
  SkipReason reason{};
  if (failure_ && !may_run(why_not, reason) && reason == SkipReason::job_running) {
    // From now on the job itself shows whether NCCL works.
    forget_failure();
  }
  if (state_ == State::idle) {
    if (is_due(round, eligible.size())) begin(round);
    return;
  }
  const bool on_gpu = state_ == State::preparing || state_ == State::local;
  if ((on_gpu || state_ == State::ready) && !may_run(why_not, reason)) {
    skip(reason, why_not);
    worker_.kill(why_not);
    return;
  }
  if (state_ != State::ready) return;
  if (round == meet_round_) {
    meet(eligible);
  } else if (round > meet_round_) {
    skip(SkipReason::unavailable, "this node's GPUs were not ready when the others met");
    finish(false);
  }
}

void NcclLink::begin(std::int64_t round) {
  std::string why_not;
  SkipReason reason{};
  if (!may_run(why_not, reason)) {
    return skip(reason, why_not);
  }
  if (worker_.is_stuck()) {
    return skip(SkipReason::unavailable, "a former probe is stuck in the kernel");
  }
  if (auto started = worker_.start(); !started) {
    return skip(SkipReason::not_installed, started.error().text);
  }
  const auto& nccl = around_.config.nccl;
  const Jobs jobs = handlers_.jobs();
  wire::NcclPrepare prepare;
  prepare.node = around_.self;
  prepare.library = nccl.library;
  prepare.job_library = jobs.library;
  prepare.job_pid = jobs.pid;
  prepare.beside_jobs = nccl.mode == "always";
  prepare.timeout_ms = static_cast<int>(nccl.timeout.count());
  state_ = State::preparing;
  rung_ = wire::Rung::local;
  runs_.clear();
  // Preparing and the local rung take a timeout each at most; then everybody is ready, or is not.
  meet_round_ = round + rounds(2 * nccl.timeout) + 1;
  worker_.expect(nccl.timeout + kSlack);
  (void)worker_.send(prepare);
}

void NcclLink::run(wire::NcclRun request) {
  const auto& nccl = around_.config.nccl;
  request.round = run_round_;
  request.timeout_ms = static_cast<int>(nccl.timeout.count());
  request.sizes = nccl.sizes;
  rung_ = request.rung;
  worker_.expect(nccl.timeout + kSlack);
  (void)worker_.send(request);
}

// --- the meeting --------------------------------------------------------------------------------

bool NcclLink::is_about(const peer::Request& request) {
  if (const auto* join = std::get_if<peer::MeetGroup>(&request.body)) return is_marked(join->group);
  const auto* blob = std::get_if<peer::MeetGroupBlob>(&request.body);
  return blob != nullptr && is_marked(blob->context_id);
}

void NcclLink::meet(const std::vector<std::string>& eligible) {
  if (eligible.size() < 2) {
    skip(SkipReason::unavailable, "there is no other member to meet");
    return finish(false);
  }
  host_ = eligible.front();
  state_ = State::meeting;
  if (host_ == around_.self) {
    deliver(meeting_.join(around_.self, kSelf, Clock::now()));
  } else {
    ask(peer::MeetGroup{kMark + view_hash_, ""});
  }
}

void NcclLink::on_request(const peer::Request& request, peer::Server::Responder respond) {
  const peer::Ticket ticket = next_ticket_++;
  waiting_.emplace(ticket, std::move(respond));
  const base::TimePoint now = Clock::now();
  if (const auto* join = std::get_if<peer::MeetGroup>(&request.body)) {
    deliver(meeting_.join(request.from.name, ticket, now, join->context_id));
  } else if (const auto* blob = std::get_if<peer::MeetGroupBlob>(&request.body)) {
    deliver(meeting_.blob(request.from.name, ticket, blob->context_id, blob->blob, now));
  }
}

void NcclLink::deliver(peer::Answers answers) {
  around_.loop.cancel(meeting_timer_);
  if (const auto due = meeting_.deadline()) {
    meeting_timer_ = around_.loop.at(*due, [this] { deliver(meeting_.expire(Clock::now())); });
  }
  std::optional<decltype(peer::Reply::body)> own;
  for (peer::Answer& answer : answers) {
    if (auto* fixed = std::get_if<peer::GroupFixed>(&answer.body)) fixed->round = around_.round();
    if (answer.to == kSelf) {
      own = std::move(answer.body);
      continue;
    }
    const auto found = waiting_.find(answer.to);
    if (found == waiting_.end()) continue;
    peer::Reply reply{.from = around_.identity()};
    reply.body = std::move(answer.body);
    found->second(reply);
    waiting_.erase(found);
  }
  if (own) on_answer(*own);
}

void NcclLink::ask(decltype(peer::Request::body) body) {
  const auto to = around_.address(host_);
  if (!to) {
    skip(SkipReason::unavailable, "no address of " + host_);
    return finish(false);
  }
  peer::Request request = around_.request_to(host_);
  request.body = std::move(body);
  call_ = peer::Call::start(
      around_.loop, *to, bind_address(around_.config, *to), around_.config.peers.token,
      std::move(request), kCallDeadline, [this](peer::CallResult result) {
        call_.reset();
        if (result.reply && result.reply->from.name == host_) {
          return on_answer(result.reply->body);
        }
        // Who cannot be met is the edges' business, not this probe's.
        skip(SkipReason::unavailable, "no meeting at " + host_ + ": " + result.text);
        finish(false);
      });
}

void NcclLink::on_answer(const decltype(peer::Reply::body)& body) {
  const auto* fixed = std::get_if<peer::GroupFixed>(&body);
  const auto* met = std::get_if<peer::GroupMet>(&body);
  if (fixed != nullptr && state_ == State::meeting) return on_fixed(*fixed);
  if (met != nullptr && state_ == State::exchanging) return on_met(*met);
  if (state_ != State::meeting && state_ != State::exchanging) return;
  const auto* refusal = std::get_if<peer::Refusal>(&body);
  skip(SkipReason::unavailable,
       "no meeting: " + (refusal != nullptr ? refusal->text : "an answer that does not fit"));
  finish(false);
}

void NcclLink::on_fixed(const peer::GroupFixed& fixed) {
  if (fixed.members.size() < 2) {
    skip(SkipReason::unavailable, "no other member came to the meeting");
    return finish(false);
  }
  members_ = fixed.members;
  own_rank_ = static_cast<std::size_t>(fixed.rank);
  const bool known = std::all_of(members_.begin(), members_.end(), [this](const auto& name) {
    return around_.config.membership.members.end() !=
           std::find_if(around_.config.membership.members.begin(),
                        around_.config.membership.members.end(),
                        [&](const config::Member& member) { return member.name == name; });
  });
  if (!known || members_[own_rank_] != around_.self) {
    skip(SkipReason::unavailable, "the meeting at " + host_ + " is of others than we know");
    return finish(false);
  }
  context_id_ = fixed.context_id;
  run_round_ = fixed.round;
  state_ = State::exchanging;
  const wire::Blob blob = wire::encode_facts(facts_);
  if (host_ == around_.self) {
    deliver(meeting_.blob(around_.self, kSelf, context_id_, blob, Clock::now()));
  } else {
    ask(peer::MeetGroupBlob{context_id_, blob});
  }
}

void NcclLink::on_met(const peer::GroupMet& met) {
  std::vector<NcclMember> all;
  for (std::size_t i = 0; i < met.blobs.size() && i < members_.size(); ++i) {
    auto facts = wire::decode_facts(met.blobs[i]);
    if (!facts) {
      skip(SkipReason::unavailable, members_[i] + ": " + facts.error().text);
      return finish(false);
    }
    all.push_back({members_[i], std::move(*facts)});
  }
  if (all.size() != members_.size()) {
    skip(SkipReason::unavailable, "the meeting handed round too little");
    return finish(false);
  }
  const std::int64_t turn = run_round_ / rounds(around_.config.nccl.interval);
  NcclLadder ladder = nccl_ladder(all, own_rank_, turn);
  odd_.clear();
  for (const auto& [name, text] : ladder.odd) {
    if (std::find(odd_.begin(), odd_.end(), name) == odd_.end()) odd_.push_back(name);
    say("version_mismatch", text, name);
  }
  if (ladder.is_mixed) {
    wire::NcclReport report;
    report.rung = wire::Rung::rail;
    report.outcome = model::Outcome::mismatch;
    report.size_bytes = around_.config.nccl.sizes.front();
    report.ranks = static_cast<int>(members_.size());
    count(report);
    // Named by the claim that odd_ones() makes; nothing was tried that could have failed.
    return finish(true);
  }
  runs_ = std::move(ladder.runs);
  state_ = State::climbing;
  climb();
}

void NcclLink::climb() {
  if (runs_.empty()) return finish(true);
  wire::NcclRun next = std::move(runs_.front());
  runs_.erase(runs_.begin());
  run(std::move(next));
}

void NcclLink::forget_failure() {
  failure_.reset();
  failed_runs_ = 0;
  not_met_ = 0;
}

void NcclLink::finish(bool met_others) {
  const bool waited = Clock::now() - started_at_ > around_.config.membership.join_grace;
  preflight_done_ = preflight_done_ || met_others || waited;
  if (met_others || (failure_ && failure_->rung == wire::Rung::local)) {
    if (failure_) handlers_.note("probe_ok", "NCCL works again here");
    forget_failure();
  } else if (failure_ && ++not_met_ >= kBelievedFailures) {
    handlers_.note("probe_ok", "nobody to try again with: what failed between members is over");
    forget_failure();
  }
  call_.reset();
  state_ = State::ending;
  worker_.expect(kEndingDeadline);
  if (!worker_.send(wire::NcclStop{})) worker_.kill("it does not take a stop");
}

}  // namespace collwatch::agent
