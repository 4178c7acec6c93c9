// SPDX-License-Identifier: Apache-2.0
//
// A small table, one row per class, source, rank and job.
#include "daemon/agent/sightings.h"

#include <algorithm>
#include <utility>

#include "exporters/prometheus/fingerprint_sources.h"

namespace collwatch::agent {
namespace {

using model::Fingerprint;

constexpr std::size_t kMostTold = 256;

/// What the end of a job looks like to those of its ranks that end a moment later.
bool can_be_echo(Fingerprint id) {
  return id == Fingerprint::gloo_peer_lost || id == Fingerprint::gloo_collective_timeout ||
         id == Fingerprint::store_unreachable || id == Fingerprint::store_timeout ||
         id == Fingerprint::nccl_remote_error || id == Fingerprint::nccl_socket_error ||
         id == Fingerprint::worker_exit;
}

std::optional<std::string> known(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

std::string evidence_of(const wire::Finding& finding) {
  std::string text = finding.file;
  if (!text.empty() && finding.line > 0) text += ":" + std::to_string(finding.line);
  if (text.empty()) text = std::string(model::name(finding.source));
  return text + ": " + finding.text;
}

Sightings::News Sightings::add(const wire::Finding& finding, base::TimePoint now,
                               exporters::WallTime wall) {
  if (!exporters::can_see(finding.source, finding.fingerprint)) return News::none;
  const std::string evidence = evidence_of(finding);
  if (finding.line > 0) {
    const std::string key = std::string(model::name(finding.fingerprint)) + " " + evidence;
    while (!told_.empty() && now - told_.front().second >= kSameTelling) told_.pop_front();
    const bool is_told = std::any_of(told_.begin(), told_.end(),
                                     [&](const auto& told) { return told.first == key; });
    if (is_told) return News::none;
    told_.emplace_back(key, now);
    if (told_.size() > kMostTold) told_.pop_front();
  }
  const std::optional<int> rank =
      finding.rank < 0 ? std::nullopt : std::optional<int>(finding.rank);
  const std::optional<std::string> job = known(finding.job);
  active(now);  // drops what is over
  auto it = std::find_if(sightings_.begin(), sightings_.end(), [&](const Sighting& one) {
    return one.shown.id == finding.fingerprint && one.shown.source == finding.source &&
           one.shown.rank == rank && one.shown.job == job;
  });
  const bool is_first = it == sightings_.end();
  if (is_first) {
    if (sightings_.size() >= kMost) {
      sightings_.erase(
          std::min_element(sightings_.begin(), sightings_.end(),
                           [](const auto& a, const auto& b) { return a.last < b.last; }));
    }
    Sighting fresh;
    fresh.shown.id = finding.fingerprint;
    fresh.shown.source = finding.source;
    fresh.shown.rank = rank;
    fresh.shown.job = job;
    fresh.shown.since = wall;
    sightings_.push_back(std::move(fresh));
    it = sightings_.end() - 1;
  }
  it->last = now;
  it->is_echo = it->is_echo && finding.role != "initiating";
  auto& list = it->shown.evidence;
  if (std::find(list.begin(), list.end(), evidence) == list.end()) list.push_back(evidence);
  // The first line is often the best one; of the others the latest.
  if (list.size() > kMostEvidence) list.erase(list.begin() + 1);
  return is_first ? News::first : News::again;
}

bool Sightings::is_of_cancelled_job(const Sighting& sighting) const {
  if (!sighting.is_echo || !can_be_echo(sighting.shown.id)) return false;
  return std::any_of(sightings_.begin(), sightings_.end(), [&](const Sighting& other) {
    const bool same_job =
        !other.shown.job || !sighting.shown.job || other.shown.job == sighting.shown.job;
    const auto apart =
        other.last > sighting.last ? other.last - sighting.last : sighting.last - other.last;
    return other.shown.id == Fingerprint::job_cancelled && same_job && apart <= kEchoes;
  });
}

std::vector<exporters::ActiveFingerprint> Sightings::active(base::TimePoint now) {
  std::erase_if(sightings_, [&](const Sighting& one) { return now - one.last >= kActive; });
  std::vector<const Sighting*> order;
  for (const Sighting& one : sightings_) {
    if (!is_of_cancelled_job(one)) order.push_back(&one);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Sighting* a, const Sighting* b) { return a->last > b->last; });
  std::vector<exporters::ActiveFingerprint> shown;
  for (const Sighting* one : order) shown.push_back(one->shown);
  return shown;
}

}  // namespace collwatch::agent
