// SPDX-License-Identifier: Apache-2.0
//
// nlohmann::json ends here: no exception and no json type leaves this file.
#include "daemon/demo/status.h"

#include <nlohmann/json.hpp>

namespace collwatch::demo {
namespace {

using Json = nlohmann::json;
using model::ErrorCode;

/// The enumerator that `object[key]` spells; throws what parse_status turns into an Error.
template <typename E>
E word(const Json& object, const char* key) {
  const auto& text = object.at(key).get_ref<const std::string&>();
  const auto value = model::parse<E>(text);
  if (!value) throw std::invalid_argument(std::string(key) + " '" + text + "' is unknown");
  return *value;
}

VerdictView verdict_of(const Json& object) {
  VerdictView view;
  view.kind = word<model::Kind>(object, "kind");
  view.entity = object.at("entity").get<std::string>();
  view.reason = word<model::Reason>(object, "reason");
  view.fingerprint = word<model::Fingerprint>(object, "fingerprint");
  view.state = word<model::VerdictState>(object, "state");
  view.json = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  return view;
}

EdgeView edge_of(const Json& object) {
  EdgeView view;
  view.peer = object.at("peer").get<std::string>();
  const auto outcome = object.find("outcome");
  if (outcome != object.end() && !outcome->is_null()) {
    view.outcome = word<model::Outcome>(object, "outcome");
  }
  const auto trip = object.find("round_trip_seconds");
  if (trip != object.end() && trip->is_number()) view.round_trip_seconds = trip->get<double>();
  return view;
}

AgentStatus status_of(const Json& object) {
  AgentStatus status;
  status.node = object.at("node").get<std::string>();
  status.round = object.at("round").at("number").get<std::int64_t>();
  status.local_health = object.value("local_health", 0);
  for (const Json& edge : object.at("edges")) status.edges.push_back(edge_of(edge));
  for (const Json& verdict : object.at("verdicts")) status.verdicts.push_back(verdict_of(verdict));
  return status;
}

}  // namespace

model::Result<AgentStatus> parse_status(std::string_view body) {
  try {
    return status_of(Json::parse(body.begin(), body.end()));
  } catch (const std::exception& e) {
    return model::fail(ErrorCode::protocol,
                       std::string("status is not what was agreed: ") + e.what());
  }
}

std::string json_string(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace collwatch::demo
