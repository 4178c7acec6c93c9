// SPDX-License-Identifier: Apache-2.0
//
// JSON to StatusReply, field by field, tolerant of what is missing and strict about what is there.
// The CLI's one place that knows nlohmann-json.
#include "daemon/cli/status_reply.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>

#include "daemon/logs/shown.h"

namespace collwatch::cli {
namespace {

using Json = nlohmann::json;

/// An agent may be anybody: nothing of its words steers a terminal.
std::string clean(const std::string& text) {
  return logs::shown(text);
}

/// The member if it is there and not null. Wrong types throw; parse_status catches.
template <typename T>
std::optional<T> field(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return found->get<T>();
}

std::string text(const Json& object, const char* key) {
  return clean(field<std::string>(object, key).value_or(""));
}

std::vector<std::string> texts(const Json& object, const char* key) {
  auto values = field<std::vector<std::string>>(object, key).value_or(std::vector<std::string>{});
  for (std::string& value : values) value = clean(value);
  return values;
}

template <typename F>
auto list(const Json& object, const char* key, F&& item) {
  std::vector<decltype(item(object))> items;
  const auto found = object.find(key);
  if (found == object.end()) return items;
  for (const Json& each : *found) items.push_back(item(each));
  return items;
}

StatusReply::Member member(const Json& json) {
  return {text(json, "name"), text(json, "state")};
}

StatusReply::Edge edge(const Json& json) {
  StatusReply::Edge edge;
  edge.peer = text(json, "peer");
  edge.outcome = field<std::string>(json, "outcome");
  if (edge.outcome) edge.outcome = clean(*edge.outcome);
  edge.round_trip_seconds = field<double>(json, "round_trip_seconds");
  const Json witness = json.value("witness", Json::object());
  edge.loss = field<double>(witness, "loss").value_or(0);
  edge.heard = field<bool>(witness, "heard").value_or(false);
  edge.available = field<bool>(witness, "available").value_or(true);
  return edge;
}

StatusReply::Worker worker(const Json& json) {
  return {text(json, "backend"), text(json, "state"), text(json, "text")};
}

StatusReply::Watched watched(const Json& json) {
  return {text(json, "source"), field<bool>(json, "works").value_or(true), text(json, "text")};
}

StatusReply::Collective collective(const Json& json) {
  return {text(json, "backend"), text(json, "collective"), text(json, "outcome"),
          field<std::uint64_t>(json, "size_bytes").value_or(0),
          field<double>(json, "seconds").value_or(0)};
}

StatusReply::Fingerprint fingerprint(const Json& json) {
  return {text(json, "id"), text(json, "source"), parse_time(text(json, "since"))};
}

StatusReply::Refusal refusal(const Json& json) {
  return {text(json, "text"), texts(json, "calls")};
}

StatusReply::Verdict verdict(const Json& json) {
  return {text(json, "kind"),
          text(json, "entity"),
          text(json, "reason"),
          text(json, "fingerprint"),
          text(json, "state"),
          text(json, "confidence"),
          text(json, "view"),
          texts(json, "observers"),
          texts(json, "ambiguous_with"),
          parse_time(text(json, "since")),
          text(json, "since")};
}

StatusReply read(const Json& root) {
  StatusReply reply;
  reply.node = text(root, "node");
  reply.version = text(root, "version");
  reply.members = list(root.value("membership", Json::object()), "members", member);
  const Json round = root.value("round", Json::object());
  reply.round_number = field<std::int64_t>(round, "number").value_or(0);
  reply.round_age_seconds = field<double>(round, "age_seconds").value_or(0);
  reply.clean_rounds = field<std::int64_t>(round, "clean");
  reply.local_health = field<int>(root, "local_health").value_or(0);
  reply.workers = list(root, "workers", worker);
  reply.watched = list(root.value("watch", Json::object()), "sources", watched);
  reply.edges = list(root, "edges", edge);
  reply.collectives = list(root, "collectives", collective);
  reply.fingerprints = list(root, "fingerprints", fingerprint);
  reply.verdicts = list(root, "verdicts", verdict);
  const Json c10d = root.value("c10d", Json::object());
  reply.torch = text(c10d, "torch");
  reply.refusals = list(c10d, "unsupported", refusal);
  const auto rank = [](const StatusReply::Verdict& v) {
    constexpr std::array<const char*, 3> kWorstFirst = {"page", "ticket", "suspect"};
    return std::find(kWorstFirst.begin(), kWorstFirst.end(), v.state) - kWorstFirst.begin();
  };
  std::stable_sort(reply.verdicts.begin(), reply.verdicts.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return reply;
}

/// The document, if it is one that this program understands; `what` for messages.
Json document(const std::string& json, const std::string& what, model::Error& problem) {
  Json root = Json::parse(json, nullptr, false);
  const auto schema = root.is_object() ? field<int>(root, "schema") : std::nullopt;
  if (!schema || !root.contains("node")) {
    problem = {model::ErrorCode::protocol, "the reply is not a collwatch agent's " + what, 0};
  } else if (*schema != 1) {
    problem = {model::ErrorCode::protocol,
               "the agent speaks schema " + std::to_string(*schema) +
                   ", this collwatch only 1: use the agent's version",
               0};
  }
  return root;
}

template <typename T, typename Read>
model::Result<T> parsed(const std::string& json, const std::string& what, Read&& read_root) {
  try {
    model::Error problem;
    const Json root = document(json, what, problem);
    if (!problem.text.empty()) return model::fail(problem);
    return read_root(root);
  } catch (const std::exception& exception) {
    return model::fail(model::ErrorCode::protocol,
                       "the " + what + " cannot be read: " + exception.what());
  }
}

}  // namespace

model::Result<StatusReply> parse_status(const std::string& json) {
  return parsed<StatusReply>(json, "status", read);
}

model::Result<std::vector<VerdictEvent>> parse_verdict_events(const std::string& json) {
  using Events = std::vector<VerdictEvent>;
  return parsed<Events>(json, "events", [](const Json& root) {
    Events events;
    const auto all = root.find("events");
    if (all == root.end()) return events;
    for (const Json& each : *all) {
      if (text(each, "type") == "verdict") events.push_back({verdict(each), text(each, "time")});
    }
    return events;
  });
}

std::optional<WallTime> parse_time(const std::string& text) {
  std::tm parts{};
  int millis = 0;
  char zone = 0;
  const int got =
      std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3d%c", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &millis, &zone);
  if (got < 6) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return std::chrono::system_clock::from_time_t(timegm(&parts)) + std::chrono::milliseconds(millis);
}

std::string clock_text(WallTime time, WallTime now) {
  const auto local = [](WallTime at) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
    std::tm parts{};
    localtime_r(&seconds, &parts);
    return parts;
  };
  const std::tm then = local(time);
  const std::tm today = local(now);
  const bool same_day = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
  std::array<char, 32> out{};
  std::strftime(out.data(), out.size(), same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
  return out.data();
}

}  // namespace collwatch::cli
