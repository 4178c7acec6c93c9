// SPDX-License-Identifier: Apache-2.0
//
// The worst standing verdict decides; only where there is none does blindness matter.
#include "daemon/cli/check.h"

#include <algorithm>

#include "daemon/cli/status_text.h"
#include "daemon/logs/shown.h"

namespace collwatch::cli {
namespace {

constexpr std::size_t kLongestLine = 80;
/// Twice the longest round there can be: the agent no longer turns.
constexpr double kStaleSeconds = 120;

CheckResult result(Health health, const std::string& text) {
  static constexpr const char* kWords[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  std::string line =
      std::string("COLLWATCH ") + kWords[static_cast<int>(health)] + ": " + logs::shown(text);
  // Nagios takes what follows a bar for numbers to plot.
  std::replace(line.begin(), line.end(), '|', '/');
  if (line.size() > kLongestLine) line = line.substr(0, kLongestLine - 3) + "...";
  return {health, line};
}

/// A suspicion that has outlived the round it arose in: a full round ended since.
bool outlived_its_round(const StatusReply::Verdict& verdict, const StatusReply& status,
                        WallTime now) {
  if (!verdict.since) return true;
  const auto round_age = std::chrono::duration<double>(status.round_age_seconds);
  return std::chrono::duration<double>(now - *verdict.since) > round_age + std::chrono::seconds(1);
}

/// No edge works: because of this node, because of whoever is gone, or because it only begins.
std::string why_blind(const StatusReply& status) {
  if (const std::string own = own_trouble(status); !own.empty()) return own;
  const std::string gone = members_in(status, {"left", "never_joined", "down"});
  if (!gone.empty()) return gone + ": nobody else to judge by";
  return "no edge works yet, nothing to judge by";
}

}  // namespace

CheckResult check(const model::Result<StatusReply>& status, WallTime now) {
  if (!status) return result(Health::unknown, status.error().text);
  if (status->round_age_seconds > kStaleSeconds) {
    return result(Health::unknown, "no round for " + age_text(status->round_age_seconds));
  }
  std::size_t standing = 0;
  const StatusReply::Verdict* worst = nullptr;
  for (const auto& verdict : status->verdicts) {
    if (verdict.state == "suspect" && !outlived_its_round(verdict, *status, now)) continue;
    ++standing;
    if (worst == nullptr) worst = &verdict;
  }
  if (worst != nullptr) {
    // Short first, so that who and why survive the cut.
    std::string text = worst->kind + " " + worst->entity + " " + worst->reason;
    if (standing > 1) text += " (+" + std::to_string(standing - 1) + ")";
    if (worst->state == "suspect") text += " suspected";
    if (worst->since) text += " since " + clock_text(*worst->since, now);
    if (worst->fingerprint != "none") text += " " + worst->fingerprint;
    return result(worst->state == "page" ? Health::critical : Health::warning, text);
  }
  const bool any_ok = std::any_of(status->edges.begin(), status->edges.end(),
                                  [](const auto& edge) { return edge.outcome == "ok"; });
  if (!status->edges.empty() && !any_ok) return result(Health::unknown, why_blind(*status));
  const std::string stale = members_in(*status, {"stale_view"});
  if (!stale.empty()) {
    return result(Health::warning, "member lists differ: " + stale);
  }
  return result(Health::ok, summary(*status));
}

int exit_code(Health health, CheckStyle style) {
  if (style == CheckStyle::nagios) return static_cast<int>(health);
  if (health == Health::unknown) return 2;
  return health == Health::ok ? 0 : 1;
}

}  // namespace collwatch::cli
