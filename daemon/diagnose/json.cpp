// SPDX-License-Identifier: Apache-2.0
//
// The diagnosis as JSON, field by field as design 2.5 and docs/schema/diagnosis.json have it.
#include <nlohmann/json.hpp>

#include "daemon/diagnose/print.h"

namespace collwatch::diagnose {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

const char* role_name(catalogue::Role role) {
  switch (role) {
    case catalogue::Role::initiating:
      return "initiating";
    case catalogue::Role::collateral:
      return "collateral";
    case catalogue::Role::context:
      return "context";
    case catalogue::Role::benign:
      return "benign";
  }
  return "context";
}

Json initiating(const std::optional<Initiating>& who) {
  if (!who) return nullptr;
  Json out;
  out["rank"] = or_null(who->rank);
  out["group_rank"] = or_null(who->group_rank);
  out["host"] = or_null(who->host);
  out["local_rank"] = or_null(who->local_rank);
  out["pid"] = or_null(who->pid);
  out["file"] = or_null(who->file);
  out["line"] = or_null(who->line);
  return out;
}

Json verdict(const Verdict& v) {
  Json out;
  out["fingerprint"] = std::string(model::name(v.fingerprint));
  out["confidence"] = std::string(model::name(v.confidence));
  out["initiating"] = initiating(v.initiating);
  out["collateral_ranks"] = v.collateral_ranks;
  out["root_cause"] = v.root_cause;
  out["why"] = v.why;
  out["next_action"] = v.next_action;
  out["missing_evidence"] = v.missing_evidence;
  out["fix"] = v.fix;
  out["verify"] = v.verify;
  return out;
}

/// The fields that every finding has, null where the line does not say, then the others it has.
Json fields(const std::map<std::string, std::string>& known) {
  Json out;
  for (const char* name : {"peer", "timeout_ms", "op", "seq"}) out[name] = nullptr;
  for (const auto& [name, value] : known) {
    const bool is_number = (name == "timeout_ms" || name == "seq") && value.size() < 18 &&
                           !value.empty() &&
                           value.find_first_not_of("0123456789") == std::string::npos;
    out[name] = is_number ? Json(std::stol(value)) : Json(value);
  }
  return out;
}

Json finding(const Finding& f) {
  Json out;
  out["fingerprint"] = std::string(model::name(f.fingerprint));
  out["role"] = role_name(f.role);
  out["rank"] = or_null(f.rank);
  out["host"] = or_null(f.host);
  out["file"] = f.file;
  out["line"] = f.line;
  out["time"] = or_null(f.time);
  out["text"] = f.text;
  out["fields"] = fields(f.fields);
  return out;
}

Json agent(const AgentWord& word) {
  Json out;
  out["url"] = word.url;
  out["node"] = word.answered ? Json(word.node) : Json(nullptr);
  out["relation"] = relation_name(word.relation);
  out["text"] = word.text;
  out["round"] = word.answered ? Json(word.round) : Json(nullptr);
  out["clean_rounds"] = or_null(word.clean_rounds);
  out["verdicts"] = Json::array();
  for (const auto* list : {&word.verdicts, &word.past}) {
    for (const AgentVerdict& one : *list) {
      out["verdicts"].push_back({{"kind", one.kind},
                                 {"entity", one.entity},
                                 {"reason", one.reason},
                                 {"fingerprint", one.fingerprint},
                                 {"state", one.state},
                                 {"since", one.since},
                                 {"until", or_null(one.until)}});
    }
  }
  return out;
}

}  // namespace

std::string to_json(const Diagnosis& diagnosis) {
  Json out;
  out["schema"] = 1;
  out["verdict"] = verdict(diagnosis.verdict);
  out["findings"] = Json::array();
  for (const Finding& one : diagnosis.findings) out["findings"].push_back(finding(one));
  out["ranks"] = Json::array();
  for (const RankEnd& end : diagnosis.ranks) {
    out["ranks"].push_back(
        {{"rank", end.rank}, {"state", end.state}, {"last_line", or_null(end.last_line)}});
  }
  out["related"] = Json::array();
  for (const model::Fingerprint id : diagnosis.related)
    out["related"].push_back(std::string(model::name(id)));
  Json& scanned = out["scanned"];
  scanned["files"] = diagnosis.scanned.files;
  scanned["bytes"] = diagnosis.scanned.bytes;
  scanned["seconds"] = diagnosis.scanned.seconds;
  if (diagnosis.agent) out["agent"] = agent(*diagnosis.agent);
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace collwatch::diagnose
