// SPDX-License-Identifier: Apache-2.0
//
// Meeting, forming, running and losing the group; see the header's diagram.
#include "daemon/agent/group_link.h"

#include <algorithm>
#include <utility>

#include "daemon/agent/route.h"

namespace collwatch::agent {

using base::Clock;
using base::Millis;
using model::Outcome;

namespace {
constexpr peer::Ticket kSelf = 0;
/// Meeting and blobs: the host's patience twice, plus the ways.
constexpr Millis kCallDeadline{500};
constexpr Millis kPrepareDeadline{500};

bool is_large(const std::vector<std::uint32_t>& sizes, std::uint32_t bytes) {
  return bytes > *std::min_element(sizes.begin(), sizes.end());
}
}  // namespace

GroupLink::GroupLink(PeerLinkSurroundings& surroundings, const std::string& incarnation,
                     Handlers handlers)
    : around_(surroundings), handlers_(std::move(handlers)), ids_(incarnation), meeting_(ids_) {}

GroupLink::~GroupLink() {
  around_.loop.cancel(deadline_);
  around_.loop.cancel(meeting_timer_);
}

void GroupLink::on_round(std::int64_t round, const std::vector<std::string>& eligible,
                         const std::string& view_hash) {
  meeting_.set_expected(eligible);
  const std::int64_t every =
      std::max<std::int64_t>(1, around_.config.gloo.interval / around_.config.edge.interval);
  const bool due = round % every == 0;
  if (!due && round != retry_round_) return;
  if (state_ != State::idle && state_ != State::held) return;  // one run at a time
  if (!around_.worker_running()) return;
  if (eligible.size() < 2) {
    if (due) handlers_.skipped(model::SkipReason::unavailable);
    return;
  }
  begin(eligible, view_hash);
}

void GroupLink::begin(const std::vector<std::string>& eligible, const std::string& view_hash) {
  const bool stale = Clock::now() - formed_at_ > around_.config.rendezvous.interval;
  if (state_ == State::held && stale) close();  // the rendezvous itself is probed now and then
  const std::string held = state_ == State::held ? context_id_ : "";
  began_ = Clock::now();
  fresh_ = false;
  host_ = eligible.front();
  state_ = State::meeting;
  arm(kCallDeadline);
  if (host_ == around_.self) {
    deliver(meeting_.join(around_.self, kSelf, Clock::now(), held));
  } else {
    ask(peer::MeetGroup{view_hash, held});
  }
}

void GroupLink::on_request(const peer::Request& request, const peer::Address& /*local*/,
                           peer::Server::Responder respond) {
  const peer::Ticket ticket = next_ticket_++;
  waiting_.emplace(ticket, std::move(respond));
  const base::TimePoint now = Clock::now();
  if (const auto* join = std::get_if<peer::MeetGroup>(&request.body)) {
    deliver(meeting_.join(request.from.name, ticket, now, join->context_id));
  } else if (const auto* blob = std::get_if<peer::MeetGroupBlob>(&request.body)) {
    deliver(meeting_.blob(request.from.name, ticket, blob->context_id, blob->blob, now));
  }
}

void GroupLink::deliver(peer::Answers answers) {
  arm_meeting();
  std::optional<decltype(peer::Reply::body)> own;
  for (peer::Answer& answer : answers) {
    if (auto* fixed = std::get_if<peer::GroupFixed>(&answer.body)) {
      fixed->round = around_.round();
      fixed->gentle = gentle();
    }
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

void GroupLink::arm_meeting() {
  around_.loop.cancel(meeting_timer_);
  if (const auto due = meeting_.deadline()) {
    meeting_timer_ = around_.loop.at(*due, [this] { deliver(meeting_.expire(Clock::now())); });
  }
}

void GroupLink::ask(decltype(peer::Request::body) body) {
  const auto to = around_.address(host_);
  if (!to) {
    fail(Outcome::unreachable);
    return;
  }
  peer::Request request = around_.request_to(host_);
  request.body = std::move(body);
  call_ = peer::Call::start(
      around_.loop, *to, bind_address(around_.config, *to), around_.config.peers.token,
      std::move(request), kCallDeadline, [this](peer::CallResult result) {
        call_.reset();
        if (result.reply && result.reply->from.name != host_) {
          fail(Outcome::mismatch);  // another agent answers at the host's address
        } else if (result.reply) {
          on_answer(result.reply->body);
        } else {
          fail(result.sys_errno == ECONNREFUSED ? Outcome::refused : Outcome::unreachable);
        }
      });
}

void GroupLink::on_answer(const decltype(peer::Reply::body)& body) {
  if (const auto* fixed = std::get_if<peer::GroupFixed>(&body)) {
    if (state_ == State::meeting) on_fixed(*fixed);
    return;
  }
  if (const auto* met = std::get_if<peer::GroupMet>(&body)) {
    if (state_ != State::exchanging) return;
    if (!around_.to_worker(wire::GroupConnect{attempt_, context_id_, met->blobs})) {
      fail(Outcome::error);
      return;
    }
    state_ = State::connecting;
    arm(around_.config.gloo.timeout * 2);
    return;
  }
  // A refusal or an answer that does not fit: this meeting did not come about.
  if (state_ == State::meeting || state_ == State::exchanging) fail(Outcome::init_failed);
}

void GroupLink::on_fixed(const peer::GroupFixed& fixed) {
  run_round_ = fixed.round;
  gentle_ = fixed.gentle;
  members_ = fixed.members;
  if (fixed.members.size() < 2) {
    close();
    handlers_.skipped(model::SkipReason::unavailable);
    return;
  }
  if (fixed.context_id == context_id_) {
    run();
    return;
  }
  const auto other = std::find_if(fixed.members.begin(), fixed.members.end(),
                                  [this](const auto& name) { return name != around_.self; });
  const auto to = around_.address(*other);
  const auto local = to ? local_address_towards(around_.config, *to)
                        : model::Result<peer::Address>(
                              model::fail(model::ErrorCode::not_found, "no address of " + *other));
  if (!local) {
    fail(Outcome::unreachable);
    return;
  }
  context_id_ = fixed.context_id;
  fresh_ = true;
  attempt_ = around_.next_number();
  wire::GroupPrepare prepare;
  prepare.attempt = attempt_;
  prepare.rank = fixed.rank;
  prepare.size = static_cast<int>(fixed.members.size());
  prepare.local_address = local->host();
  prepare.timeout_ms = static_cast<int>(around_.config.gloo.timeout.count());
  state_ = State::preparing;
  arm(kPrepareDeadline);
  if (!around_.to_worker(prepare)) fail(Outcome::error);
}

void GroupLink::on_prepared(const wire::GroupPrepared& message) {
  if (state_ != State::preparing || message.attempt != attempt_) return;
  state_ = State::exchanging;
  arm(kCallDeadline);
  if (host_ == around_.self) {
    deliver(meeting_.blob(around_.self, kSelf, context_id_, message.blob, Clock::now()));
  } else {
    ask(peer::MeetGroupBlob{context_id_, message.blob});
  }
}

void GroupLink::run() {
  const auto& gloo = around_.config.gloo;
  const std::int64_t every =
      std::max<std::int64_t>(1, gloo.interval / around_.config.edge.interval);
  // The host decides the size, so that all ranks agree on it.
  bytes_ = gentle_ ? *std::min_element(gloo.sizes.begin(), gloo.sizes.end())
                   : gloo.sizes[static_cast<std::size_t>(run_round_ / every) % gloo.sizes.size()];
  wire::GroupRun run;
  run.attempt = attempt_;
  run.round = run_round_;
  run.timeout_ms = static_cast<int>(gloo.timeout.count());
  for (const model::Collective collective : gloo.collectives)
    run.steps.push_back({collective, bytes_});
  steps_left_ = run.steps.size();
  state_ = State::running;
  arm(gloo.timeout * static_cast<int>(steps_left_ + 1));
  if (!around_.to_worker(run)) fail(Outcome::error);
}

bool GroupLink::gentle() const {
  return spared_runs_ > 0 || around_.any_path_weak();
}

void GroupLink::on_report(const wire::CollectiveReport& report) {
  if (report.attempt != attempt_) return;
  if (report.phase != model::Phase::collective) {
    if (state_ != State::connecting && state_ != State::preparing && state_ != State::exchanging) {
      return;
    }
    if (report.outcome != Outcome::ok) {
      fail(report.outcome);
      return;
    }
    formed_at_ = Clock::now();
    handlers_.formed(Outcome::ok, std::chrono::duration<double>(formed_at_ - began_).count());
    run();
    return;
  }
  if (state_ != State::running) return;
  exporters::CollectiveResult result;
  result.backend = "gloo";
  result.collective = report.collective;
  result.size_bytes = report.size_bytes;
  result.outcome = report.outcome;
  result.seconds = static_cast<double>(report.duration_us) / 1e6;
  result.at = std::chrono::system_clock::now();
  handlers_.ran(result);
  if (report.outcome != Outcome::ok) {
    fail(report.outcome);
    return;
  }
  if (--steps_left_ > 0) return;
  around_.loop.cancel(deadline_);
  failed_runs_ = 0;
  if (spared_runs_ > 0) {
    --spared_runs_;
  } else if (is_large(around_.config.gloo.sizes, bytes_)) {
    spare_next_ = kSpareFirst;
  }
  state_ = State::held;
}

void GroupLink::on_accusations(const wire::GroupAccusations& words) {
  if (words.attempt != attempt_ || state_ != State::running) return;
  if (words.round == run_round_) handlers_.accused(members_, words);
}

void GroupLink::fail(Outcome outcome) {
  const bool forming = state_ != State::running;
  const bool was_retry = around_.round() == retry_round_ || run_round_ == retry_round_;
  if (forming) {
    handlers_.formed(outcome, std::chrono::duration<double>(Clock::now() - began_).count());
  }
  // Wrong bytes have nothing to do with a path that is full.
  const bool strained = !forming && outcome != Outcome::data_corruption;
  if (strained && is_large(around_.config.gloo.sizes, bytes_)) {
    spared_runs_ = spare_next_;
    spare_next_ = std::min(2 * spare_next_, kSpareMost);
  }
  close();
  ++failed_runs_;
  last_failure_ = outcome;
  // Regroup with the survivors in the next round; if that fails too, wait for the next due one.
  retry_round_ = was_retry ? 0 : around_.round() + 1;
}

void GroupLink::on_worker_lost() {
  close();
  failed_runs_ = 0;
}

void GroupLink::close() {
  around_.loop.cancel(deadline_);
  call_.reset();
  if (state_ != State::idle) around_.to_worker(wire::GroupClose{});
  state_ = State::idle;
  context_id_.clear();
}

void GroupLink::arm(Millis delay) {
  around_.loop.cancel(deadline_);
  deadline_ = around_.loop.after(delay, [this] { fail(Outcome::timeout); });
}

}  // namespace collwatch::agent
