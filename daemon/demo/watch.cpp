// SPDX-License-Identifier: Apache-2.0
//
// Everything is recomputed from the agents' latest words at each sample: a few dozen comparisons,
// and no state that could drift from what was really said.
#include "daemon/demo/watch.h"

#include <algorithm>

namespace collwatch::demo {
namespace {

using model::VerdictState;

/// An agent that misses this many polls in a row is shown as silent.
constexpr int kSilentPolls = 3;

bool same_subject(const VerdictView& a, const VerdictView& b) {
  return a.kind == b.kind && a.entity == b.entity;
}

bool names(const Expectation& expected, const VerdictView& verdict) {
  return expected.kind == verdict.kind && expected.entity == verdict.entity;
}

bool lists(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// Nodes whose own view counts for `plan`: not affected by any fault of the run; where that leaves
/// nobody, not affected by this one; with two nodes and a bad link, both of them.
std::vector<int> whose_word_counts(int nodes, const std::vector<Plan>& plans, const Plan& plan) {
  std::set<int> all_affected, own(plan.affected.begin(), plan.affected.end());
  for (const Plan& other : plans) all_affected.insert(other.affected.begin(), other.affected.end());
  std::vector<int> strict, loose, everybody;
  for (int node = 0; node < nodes; ++node) {
    everybody.push_back(node);
    if (!all_affected.contains(node)) strict.push_back(node);
    if (!own.contains(node)) loose.push_back(node);
  }
  if (!strict.empty()) return strict;
  return loose.empty() ? everybody : loose;
}

std::string text_of(const Expectation& e) {
  return std::string(model::name(e.kind)) + " " + e.entity + " " +
         std::string(model::name(e.reason));
}

}  // namespace

Watcher::Watcher(int nodes, std::vector<Plan> plans)
    : nodes_(nodes), plans_(std::move(plans)), agents_(nodes), outcomes_(plans_.size()) {
  for (const Plan& plan : plans_) {
    unaffected_.push_back(whose_word_counts(nodes, plans_, plan));
    if (plan.fault.kind == FaultKind::absent) absent_.insert(plan.fault.node);
    absent_.insert(plan.joins.begin(), plan.joins.end());
  }
}

void Watcher::injected(std::size_t fault, double at) {
  outcomes_[fault].injected_at = at;
  for (const int node : plans_[fault].joins) absent_.erase(node);
}

void Watcher::repaired(std::size_t fault, double at) {
  outcomes_[fault].repaired_at = at;
  // A repaired absence is a node that joined: from now on it is expected to be well.
  if (plans_[fault].fault.kind == FaultKind::absent) absent_.erase(plans_[fault].fault.node);
  for (const int node : plans_[fault].joins) {
    absent_.insert(node);
    agents_[node] = {};
  }
}

void Watcher::failed(std::size_t fault, const std::string& why) {
  FaultOutcome& outcome = outcomes_[fault];
  if (!outcome.repaired_at) outcome.injected_at.reset();
  outcome.failed = why;
}

void Watcher::sample(const Sample& sample) {
  note_changes(sample);
  agents_[sample.agent].status = sample.status;
  note_wrongs(sample);
  note_health(sample.at);
  for (std::size_t fault = 0; fault < plans_.size(); ++fault) {
    if (!outcomes_[fault].injected_at) continue;
    judge(fault, sample.at);
    judge_clear(fault, sample.at);
  }
}

void Watcher::note_changes(const Sample& sample) {
  Agent& agent = agents_[sample.agent];
  const auto say = [&](Change::What what, const VerdictView& verdict) {
    changes_.push_back({sample.at, sample.agent, what, verdict});
  };
  if (!sample.status) {
    if (++agent.silent_polls == kSilentPolls && agent.ever_answered) say(Change::What::silent, {});
    return;
  }
  if (agent.silent_polls >= kSilentPolls && agent.ever_answered) say(Change::What::answers, {});
  agent.silent_polls = 0;
  agent.ever_answered = true;
  static const std::vector<VerdictView> nothing;
  const auto& before = agent.status ? agent.status->verdicts : nothing;
  for (const VerdictView& now : sample.status->verdicts) {
    // One subject may have two verdicts, for two reasons.
    if (std::none_of(before.begin(), before.end(), [&](const VerdictView& v) {
          return same_subject(v, now) && v.state == now.state && v.reason == now.reason;
        })) {
      say(Change::What::verdict, now);
    }
  }
  for (const VerdictView& old : before) {
    const auto& now = sample.status->verdicts;
    if (std::none_of(now.begin(), now.end(),
                     [&](const VerdictView& v) { return same_subject(v, old); })) {
      say(Change::What::cleared, old);
    }
  }
}

bool Watcher::explained(const std::string& entity) const {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (outcomes_[i].injected_at && lists(plans_[i].explains, entity)) return true;
  }
  return false;
}

bool Watcher::page_allowed(const std::string& entity) const {
  return std::any_of(plans_.begin(), plans_.end(), [&entity](const Plan& plan) {
    return plan.page_allowed && lists(plan.explains, entity);
  });
}

void Watcher::note_wrongs(const Sample& sample) {
  auto& wrong_since = agents_[sample.agent].wrong_since;
  if (!sample.status) {
    wrong_since.clear();
    return;
  }
  std::map<std::string, double> still;
  for (const VerdictView& verdict : sample.status->verdicts) {
    if (verdict.kind == model::Kind::self) continue;  // doubting oneself blames nobody
    const bool page = verdict.state == VerdictState::page;
    if (explained(verdict.entity)) {
      if (page && !page_allowed(verdict.entity)) overpaged_.insert(verdict.entity);
      continue;
    }
    if (page) innocents_.insert(verdict.entity);
    const auto known = wrong_since.find(verdict.entity);
    const double since = known == wrong_since.end() ? sample.at : known->second;
    if (sample.at - since > kRoundSeconds) wrongly_suspected_.insert(verdict.entity);
    still[verdict.entity] = since;
  }
  wrong_since = std::move(still);
}

void Watcher::note_health(double at) {
  if (!healthy_since_ && unhealthy_because().empty()) healthy_since_ = at;
}

std::string Watcher::unhealthy_because() const {
  std::string why;
  const auto add = [&why](const std::string& text) { why += (why.empty() ? "" : ", ") + text; };
  for (int from = 0; from < nodes_; ++from) {
    if (absent(from)) continue;
    const auto& status = agents_[from].status;
    if (!status) {
      add(node_name(from) + " does not answer");
      continue;
    }
    for (int to = 0; to < nodes_; ++to) {
      if (to == from || absent(to)) continue;
      const auto edge = std::find_if(status->edges.begin(), status->edges.end(),
                                     [to](const EdgeView& e) { return e.peer == node_name(to); });
      const bool known = edge != status->edges.end() && edge->outcome.has_value();
      if (known && *edge->outcome == model::Outcome::ok) continue;
      add(node_name(from) + "->" + node_name(to) + " " +
          (known ? std::string(model::name(*edge->outcome)) : "not probed yet"));
    }
  }
  return why;
}

const VerdictView* Watcher::held(int agent, const Plan& plan) const {
  if (!agents_[agent].status) return nullptr;
  const VerdictView* found = nullptr;
  for (const VerdictView& verdict : agents_[agent].status->verdicts) {
    const bool named = std::any_of(plan.expected.begin(), plan.expected.end(),
                                   [&](const Expectation& e) { return names(e, verdict); });
    if (named && (found == nullptr || verdict.state > found->state)) found = &verdict;
  }
  return found;
}

void Watcher::judge(std::size_t fault, double at) {
  const Plan& plan = plans_[fault];
  FaultOutcome& outcome = outcomes_[fault];
  for (const int victim : plan.affected) {
    if (!agents_[victim].status) continue;
    for (const VerdictView& verdict : agents_[victim].status->verdicts) {
      for (const Expectation& e : plan.at_victim) {
        if (names(e, verdict) && e.reason == verdict.reason) outcome.victim_said = true;
      }
    }
  }
  std::size_t holding = 0, ticketing = 0, paging = 0;
  std::map<model::Reason, std::pair<int, const VerdictView*>> by_reason;
  for (const int agent : unaffected_[fault]) {
    const VerdictView* verdict = held(agent, plan);
    if (verdict == nullptr) continue;
    ++holding;
    if (verdict->state >= VerdictState::ticket) ++ticketing;
    if (verdict->state == VerdictState::page) ++paging;
    outcome.namers.insert(agent);
    auto& [count, example] = by_reason[verdict->reason];
    ++count;
    if (example == nullptr || verdict->state > example->state) example = verdict;
  }
  const double after = at - *outcome.injected_at;
  const std::size_t voters = unaffected_[fault].size();
  if (holding * 2 > voters && !outcome.suspect_after) outcome.suspect_after = after;
  if (ticketing * 2 > voters && !outcome.ticket_after) outcome.ticket_after = after;
  if (paging * 2 > voters && !outcome.page_after) outcome.page_after = after;
  // What stands after the repair is on its way out; the verdict shown is the one before it.
  if (holding * 2 > voters && !(outcome.verdict && outcome.repaired_at)) {
    const auto most = std::max_element(
        by_reason.begin(), by_reason.end(),
        [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
    outcome.verdict = *most->second.second;
  }
}

bool Watcher::holds_any(int agent, const Plan& plan) const {
  if (!agents_[agent].status) return false;
  const auto& verdicts = agents_[agent].status->verdicts;
  return std::any_of(verdicts.begin(), verdicts.end(), [&plan](const VerdictView& v) {
    return v.kind != model::Kind::self && lists(plan.explains, v.entity);
  });
}

void Watcher::judge_clear(std::size_t fault, double at) {
  const Plan& plan = plans_[fault];
  FaultOutcome& outcome = outcomes_[fault];
  const auto mended_at =
      outcome.repaired_at || !plan.mends_itself ? outcome.repaired_at : outcome.injected_at;
  if (!mended_at || !outcome.suspect_after) return;
  const auto& voters = unaffected_[fault];
  const bool still =
      std::any_of(voters.begin(), voters.end(), [&](int agent) { return holds_any(agent, plan); });
  if (still) outcome.clear_after.reset();  // it came back: not clear yet
  if (!still && !outcome.clear_after) outcome.clear_after = at - *mended_at;
}

std::vector<Change> Watcher::take_changes() {
  return std::exchange(changes_, {});
}

bool Watcher::settled() const {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const FaultOutcome& outcome = outcomes_[i];
    if (!outcome.failed.empty()) continue;
    if (!outcome.injected_at) return false;
    if (plans_[i].fault.duration && !outcome.repaired_at) return false;
    const bool mends = outcome.repaired_at || plans_[i].mends_itself;
    if (!plans_[i].expected.empty() && (!mends || !outcome.clear_after)) return false;
  }
  return unhealthy_because().empty() &&
         std::all_of(agents_.begin(), agents_.end(), [](const Agent& agent) {
           return !agent.status || agent.status->verdicts.empty();
         });
}

void Watcher::note_misses(std::size_t fault, Report& report) const {
  const Plan& plan = plans_[fault];
  const FaultOutcome& outcome = outcomes_[fault];
  const auto miss = [&](const std::string& what) {
    report.misses.push_back(plan.fault.spec + ": " + what);
  };
  if (!outcome.failed.empty()) {
    miss("could not be " + std::string(outcome.repaired_at ? "repaired" : "injected") + ": " +
         outcome.failed);
  }
  if (!outcome.injected_at || plan.expected.empty()) return;
  const std::string wanted = text_of(plan.expected.front());
  if (!outcome.suspect_after) return miss("no majority of the unaffected agents said " + wanted);
  const bool right_reason =
      std::any_of(plan.expected.begin(), plan.expected.end(), [&](const Expectation& e) {
        return names(e, *outcome.verdict) && e.reason == outcome.verdict->reason;
      });
  if (!right_reason) {
    miss("the reason given was " + std::string(model::name(outcome.verdict->reason)) +
         ", expected " + wanted);
  }
  if (outcome.verdict->fingerprint != plan.fingerprint) {
    miss("the fingerprint given was " + std::string(model::name(outcome.verdict->fingerprint)) +
         ", expected " + std::string(model::name(plan.fingerprint)));
  }
  if (plan.ticket_expected && !outcome.ticket_after) miss("it never became a majority's ticket");
  if (plan.page_expected && !outcome.page_after) miss("it was never paged by a majority");
  if (!plan.at_victim.empty() && !outcome.victim_said) {
    miss(node_name(plan.fault.node) + " itself never said " + text_of(plan.at_victim.front()));
  }
}

Report Watcher::report() const {
  Report report;
  report.faults = outcomes_;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    note_misses(i, report);
    if (!plans_[i].page_expected) report.faults[i].page_after.reset();
    if (!plans_[i].ticket_expected) report.faults[i].ticket_after.reset();
  }
  report.innocents = innocents_;
  report.wrongly_suspected = wrongly_suspected_;
  report.innocent_pages = static_cast<int>(innocents_.size());
  report.wrong_suspects = static_cast<int>(wrongly_suspected_.size());
  for (const std::string& entity : overpaged_) {
    report.misses.push_back(entity + " was paged, though it deserved less");
  }
  for (const std::string& entity : innocents_) {
    report.misses.push_back(entity + " was paged, though nothing was wrong with it");
  }
  return report;
}

}  // namespace collwatch::demo
