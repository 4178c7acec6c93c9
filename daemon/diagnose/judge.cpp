// SPDX-License-Identifier: Apache-2.0
//
// The order of the rules, and what they share.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "daemon/diagnose/judgement.h"

namespace collwatch::diagnose {
namespace {

using model::Fingerprint;

/// What is left of a line when what differs between ranks anyway is taken out: the numbers that
/// name the writer.
std::string gist(const std::string& text, int rank) {
  std::string out;
  const std::string own = std::to_string(rank);
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end > i) {
      const std::string digits = text.substr(i, end - i);
      out +=
          digits == own && out.size() >= 5 && out.find("rank", out.size() - 5) != std::string::npos
              ? "#"
              : digits;
      i = end;
      continue;
    }
    out += text[i++];
  }
  return out;
}

}  // namespace

bool is_own_error(Fingerprint fingerprint) {
  switch (fingerprint) {
    case Fingerprint::gloo_collective_timeout:
    case Fingerprint::gloo_peer_lost:
    case Fingerprint::gloo_init_failed:
    case Fingerprint::store_timeout:
    case Fingerprint::store_unreachable:
    case Fingerprint::file_store_not_shared:
    case Fingerprint::collective_desync:
    case Fingerprint::straggler:
    case Fingerprint::nccl_watchdog_timeout:
    case Fingerprint::nccl_system_error:
    case Fingerprint::nccl_ib_error:
    case Fingerprint::nccl_socket_error:
    case Fingerprint::nccl_remote_error:
    case Fingerprint::job_cancelled:
    case Fingerprint::none:
      return false;
    default:
      return true;
  }
}

bool names_loopback(const Event& event) {
  const std::string* const ip = event.field("peer_ip");
  return ip != nullptr && (ip->rfind("127.", 0) == 0 || *ip == "::1");
}

std::string exception_head(const std::string& text) {
  const std::size_t colon = text.find(':');
  return text.substr(0, std::min<std::size_t>(colon, 40));
}

std::string cite(const Job& job, const Event& event) {
  const std::string who =
      event.rank ? "rank " + std::to_string(*event.rank) : std::string("a process");
  return who + " (" + job.where(event.place) + ")";
}

std::optional<int> odd_one_out(const Job& job, const std::set<int>& candidates) {
  std::map<std::string, std::set<int>> said;
  for (const auto& [rank, story] : job.ranks) {
    if (!story.last_text.empty()) said[gist(story.last_text, rank)].insert(rank);
  }
  if (said.size() != 2) return std::nullopt;
  const auto fewer = std::min_element(said.begin(), said.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  const auto more = fewer == said.begin() ? std::next(said.begin()) : said.begin();
  if (fewer->second.size() != 1 || more->second.size() < 2) return std::nullopt;
  const int rank = *fewer->second.begin();
  return candidates.count(rank) != 0 ? std::optional<int>(rank) : std::nullopt;
}

std::optional<Judgement> judge(const Job& job) {
  static constexpr std::array<Judge, 13> kJudges = {
      judge_cancelled,  judge_host,          judge_own_error,     judge_killed,  judge_flight,
      judge_mismatch,   judge_size_mismatch, judge_named,         judge_startup, judge_waiting,
      judge_peers_lost, judge_exit_codes,    judge_flight_waiting};
  for (const Judge one : kJudges) {
    if (auto judgement = one(job)) return judgement;
  }
  return std::nullopt;
}

}  // namespace collwatch::diagnose
