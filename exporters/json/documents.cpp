// SPDX-License-Identifier: Apache-2.0
//
// Field by field, in the order in which people read them. The one place of the exporters that
// knows nlohmann-json.
#include "exporters/json/documents.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "exporters/json/time_text.h"
#include "probes/model/vocabulary.h"

namespace collwatch::exporters {
namespace {

using Json = nlohmann::ordered_json;

std::string text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename E>
std::string word(E value) {
  return std::string(model::name(value));
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename T, typename F>
Json list(const std::vector<T>& items, F&& item) {
  Json out = Json::array();
  for (const T& each : items) out.push_back(item(each));
  return out;
}

Json header(const Snapshot& s) {
  Json out;
  out["schema"] = 1;
  out["node"] = s.node;
  return out;
}

Json member(const Member& m) {
  Json out;
  out["name"] = m.name;
  out["state"] = word(m.state);
  return out;
}

Json edge(const Edge& e) {
  Json out;
  out["peer"] = e.peer;
  out["outcome"] = e.outcome ? Json(word(*e.outcome)) : Json(nullptr);
  out["round_trip_seconds"] = or_null(e.round_trip_seconds);
  Json& witness = out["witness"];
  witness["loss"] = e.witness.loss;
  witness["heard"] = e.witness.heard;
  witness["available"] = e.witness.available;
  return out;
}

Json worker(const Worker& w) {
  Json out;
  out["backend"] = w.backend;
  out["state"] = word(w.state);
  out["text"] = w.text;
  return out;
}

Json watch(const Watch& w) {
  Json out;
  out["sources"] = list(w.sources, [](const WatchedSource& source) {
    Json each;
    each["source"] = word(source.source);
    each["works"] = source.works;
    each["text"] = source.text;
    return each;
  });
  out["log_files"] = w.log_files;
  out["log_waiting_files"] = w.log_waiting_files;
  out["log_lag_bytes"] = w.log_lag_bytes;
  return out;
}

Json c10d(const C10d& c) {
  const auto findings = [](const std::vector<C10dFinding>& items) {
    return list(items, [](const C10dFinding& finding) {
      Json each;
      each["text"] = finding.text;
      each["calls"] = finding.calls;
      return each;
    });
  };
  Json out;
  out["state"] = c.state;
  out["text"] = c.text;
  out["torch"] = c.torch.empty() ? Json(nullptr) : Json(c.torch);
  out["wrong_values"] = findings(c.wrong_values);
  out["unsupported"] = findings(c.unsupported);
  out["crashes"] = findings(c.crashes);
  out["stores"] = c.stores;
  return out;
}

Json job(const Job& j) {
  Json out;
  out["job"] = j.job;
  out["ranks"] = j.ranks;
  out["missing_ranks"] = j.missing;
  out["processes"] = j.processes;
  out["world_size"] = j.world_size;
  out["backend"] = j.backend;
  out["torch"] = j.torch.empty() ? Json(nullptr) : Json(j.torch);
  out["nccl"] = j.nccl.empty() ? Json(nullptr) : Json(j.nccl);
  out["stalled"] = j.stalled;
  return out;
}

Json collective(const CollectiveResult& c) {
  Json out;
  out["backend"] = c.backend;
  out["collective"] = word(c.collective);
  out["size_bytes"] = c.size_bytes;
  out["outcome"] = word(c.outcome);
  out["seconds"] = c.seconds;
  out["at"] = rfc3339(c.at);
  return out;
}

void put_fingerprint(Json& out, const ActiveFingerprint& f) {
  out["id"] = word(f.id);
  out["source"] = word(f.source);
  out["rank"] = or_null(f.rank);
  out["job"] = or_null(f.job);
  out["since"] = rfc3339(f.since);
  out["evidence"] = f.evidence;
}

Json fingerprint(const ActiveFingerprint& f) {
  Json out;
  put_fingerprint(out, f);
  return out;
}

/// `state` is given because an event's may be "cleared", which no standing verdict has.
void put_verdict(Json& out, const Verdict& v, const std::string& state) {
  out["kind"] = word(v.kind);
  out["entity"] = v.entity;
  out["reason"] = word(v.reason);
  out["fingerprint"] = word(v.fingerprint);
  out["state"] = state;
  out["confidence"] = word(v.confidence);
  out["score"] = v.score;
  out["observers"] = v.observers;
  out["ambiguous_with"] = v.ambiguous_with;
  out["view"] = word(v.view);
  out["since"] = rfc3339(v.since);
}

Json verdict(const Verdict& v) {
  Json out;
  put_verdict(out, v, word(v.state));
  return out;
}

/// The event's own fields first, then those of the item it is about, side by side.
Json event(const Event& e) {
  Json out;
  out["schema"] = 1;
  out["time"] = rfc3339(e.time);
  out["node"] = e.node;
  out["type"] = e.type;
  out["state"] = e.state;
  if (e.verdict) put_verdict(out, *e.verdict, e.state);
  if (e.fingerprint) put_fingerprint(out, *e.fingerprint);
  if (e.member) out["name"] = e.member->name;
  out["text"] = e.text;
  return out;
}

}  // namespace

std::string status_json(const Snapshot& s, double snapshot_age_seconds) {
  Json out = header(s);
  out["version"] = s.build.version;
  Json& membership = out["membership"];
  membership["size"] = s.members.size();
  membership["epoch"] = s.membership_epoch;
  membership["hash"] = s.membership_hash;
  membership["members"] = list(s.members, member);
  Json& round = out["round"];
  round["number"] = s.round_number;
  round["age_seconds"] = s.round_age_seconds + snapshot_age_seconds;
  round["interval_seconds"] = s.round_interval_seconds;
  round["clean"] = s.clean_rounds;
  out["local_health"] = s.local_health;
  out["workers"] = list(s.workers, worker);
  out["watch"] = watch(s.watch);
  out["c10d"] = c10d(s.c10d);
  out["edges"] = list(s.edges, edge);
  out["collectives"] = list(s.collectives, collective);
  out["fingerprints"] = list(s.fingerprints, fingerprint);
  out["verdicts"] = list(s.verdicts, verdict);
  out["jobs"] = list(s.jobs, job);
  return text(out);
}

std::string verdicts_json(const Snapshot& s) {
  Json out = header(s);
  out["verdicts"] = list(s.verdicts, verdict);
  return text(out);
}

std::string fingerprints_json(const Snapshot& s) {
  Json out = header(s);
  out["fingerprints"] = list(s.fingerprints, fingerprint);
  return text(out);
}

std::string events_json(const Snapshot& s) {
  Json out = header(s);
  out["events"] = list(s.recent_events, event);
  return text(out);
}

std::string event_line(const Event& e) {
  return text(event(e));
}

std::string error_json(const std::string& what) {
  Json out;
  out["schema"] = 1;
  out["error"] = what;
  return text(out);
}

}  // namespace collwatch::exporters
