// SPDX-License-Identifier: Apache-2.0
//
// Watcher: fed with every agent's status as it is polled, and with the moments of injection and
// repair, it works out who said what and when: seconds to suspect, page and clear, innocent pages,
// wrong suspects, and every change worth a line on the screen. Pure; time is passed in (seconds on
// one steady clock); used by the demo's main thread and by tests with recorded sequences.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/demo/expected.h"
#include "daemon/demo/status.h"

namespace collwatch::demo {

/// A wrong suspicion may stand for one round before it counts.
inline constexpr double kRoundSeconds = 1.0;

/// One poll of one agent; no status: it did not answer.
struct Sample {
  double at = 0;
  int agent = 0;
  std::optional<AgentStatus> status;
};

/// Something an agent began or ceased to say.
struct Change {
  enum class What { verdict, cleared, silent, answers };
  double at = 0;
  int agent = 0;
  What what = What::verdict;
  VerdictView verdict;  ///< for verdict and cleared
};

struct FaultOutcome {
  std::optional<double> injected_at, repaired_at;   ///< on the clock of the samples
  std::optional<double> suspect_after, page_after;  ///< seconds since the injection
  std::optional<double> ticket_after;               ///< a ticket, or a page at once
  std::optional<double>
      clear_after;  ///< since the repair; of what mends itself, since the injection
  std::optional<VerdictView> verdict;  ///< as a majority of the unaffected agents last held it
  std::set<int> namers;                ///< unaffected agents that named it, rightly
  bool victim_said = false;            ///< one of Plan::at_victim
  std::string failed;  ///< why it could not be injected or repaired; empty: it could
};

struct Report {
  std::vector<FaultOutcome> faults;  ///< in the order of the plans
  int innocent_pages = 0;
  int wrong_suspects = 0;
  std::set<std::string> innocents, wrongly_suspected;
  std::vector<std::string> misses;  ///< one sentence each; empty: everything came as expected
};

class Watcher {
 public:
  Watcher(int nodes, std::vector<Plan> plans);

  void injected(std::size_t fault, double at);
  void repaired(std::size_t fault, double at);
  /// It could not be done ("n2's collwatchd is not running"): nothing is expected of it any more.
  void failed(std::size_t fault, const std::string& why);
  void sample(const Sample& sample);

  /// The first moment at which every started agent saw every edge to a started peer ok.
  std::optional<double> healthy_since() const { return healthy_since_; }
  /// Why not, for people: "n1 -> n3 timeout, n2 does not answer".
  std::string unhealthy_because() const;

  const std::vector<Plan>& plans() const { return plans_; }
  const std::optional<AgentStatus>& latest(int agent) const { return agents_[agent].status; }
  bool absent(int agent) const { return absent_.contains(agent); }
  /// Changes since the last call, oldest first.
  std::vector<Change> take_changes();
  /// Every fault that was to be repaired is, or mended itself, every edge is ok again, and no agent
  /// holds a verdict any more, the victims included.
  bool settled() const;

  Report report() const;

 private:
  struct Agent {
    std::optional<AgentStatus> status;
    int silent_polls = 0;
    bool ever_answered = false;
    std::map<std::string, double> wrong_since;  ///< by entity
  };

  void note_changes(const Sample& sample);
  void note_wrongs(const Sample& sample);
  void note_health(double at);
  void judge(std::size_t fault, double at);
  void judge_clear(std::size_t fault, double at);
  bool explained(const std::string& entity) const;
  bool page_allowed(const std::string& entity) const;
  bool holds_any(int agent, const Plan& plan) const;
  const VerdictView* held(int agent, const Plan& plan) const;
  void note_misses(std::size_t fault, Report& report) const;

  int nodes_;
  std::vector<Plan> plans_;
  std::set<int> absent_;
  std::vector<std::vector<int>> unaffected_;  ///< by fault: whose word counts
  std::vector<Agent> agents_;
  std::vector<FaultOutcome> outcomes_;
  std::optional<double> healthy_since_;
  std::vector<Change> changes_;
  std::set<std::string> innocents_, wrongly_suspected_, overpaged_;
};

}  // namespace collwatch::demo
