// SPDX-License-Identifier: Apache-2.0
//
// The documents against docs/schema: by a real validator where python3-jsonschema is installed,
// and the closed sets of words in the schemas against the vocabulary everywhere.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "exporters/json/documents.h"
#include "probes/model/vocabulary.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"

using namespace collwatch;
using nlohmann::json;

namespace {

std::string schema_path(const std::string& name) {
  return std::string(COLLWATCH_SOURCE_DIR) + "/docs/schema/" + name + ".json";
}

json schema(const std::string& name) {
  std::ifstream in(schema_path(name));
  return json::parse(in);
}

/// The validator's exit status: 0 valid, 1 not, 77 cannot say.
int validate(const std::string& name, const std::string& document) {
  const std::string command = std::string("python3 ") + COLLWATCH_SOURCE_DIR +
                              "/tests/unit/json/validate.py " + schema_path(name);
  FILE* validator = popen(command.c_str(), "w");
  REQUIRE(validator != nullptr);
  std::fwrite(document.data(), 1, document.size(), validator);
  const int status = pclose(validator);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool validator_is_missing() {
  const std::string probe = "python3 -c 'from jsonschema import Draft202012Validator' 2>/dev/null";
  if (std::system(probe.c_str()) == 0) return false;
  std::cout << "SKIPPED: python3-jsonschema is not installed (or is older than draft 2020-12)\n";
  return true;
}

template <typename E>
std::vector<std::string> words() {
  std::vector<std::string> out;
  for (auto name : model::Names<E>::value) out.emplace_back(name);
  return out;
}

}  // namespace

TEST_CASE("the documents of an eventful moment are what their schemas say") {
  if (validator_is_missing()) return;
  const auto s = test::sample_snapshot();
  CHECK(validate("status", exporters::status_json(s, 0.25)) == 0);
  CHECK(validate("verdicts", exporters::verdicts_json(s)) == 0);
  CHECK(validate("fingerprints", exporters::fingerprints_json(s)) == 0);
  CHECK(validate("events", exporters::events_json(s)) == 0);
  for (const auto& event : s.recent_events) {
    CHECK(validate("event", exporters::event_line(event)) == 0);
  }
}

TEST_CASE("the documents of an agent that knows nothing yet are what their schemas say") {
  if (validator_is_missing()) return;
  CHECK(validate("status", exporters::status_json({})) == 0);
  CHECK(validate("verdicts", exporters::verdicts_json({})) == 0);
  CHECK(validate("fingerprints", exporters::fingerprints_json({})) == 0);
  CHECK(validate("events", exporters::events_json({})) == 0);
}

TEST_CASE("the validator refuses what is wrong") {
  if (validator_is_missing()) return;
  json status = json::parse(exporters::status_json(test::sample_snapshot()));
  status["edges"][0]["outcome"] = "fine";
  CHECK(validate("status", status.dump()) == 1);
  json event = json::parse(exporters::event_line(test::sample_snapshot().recent_events.back()));
  event.erase("observers");
  CHECK(validate("event", event.dump()) == 1);
  event = json::parse(exporters::event_line(test::sample_snapshot().recent_events.back()));
  event["surprise"] = 1;
  CHECK(validate("event", event.dump()) == 1);
}

TEST_CASE("the words in the schemas are the vocabulary") {
  const json status = schema("status");
  const json& defs = status["$defs"];
  const json& verdict = defs["verdict"]["properties"];
  CHECK(verdict["kind"]["enum"] == json(words<model::Kind>()));
  CHECK(verdict["reason"]["enum"] == json(words<model::Reason>()));
  CHECK(verdict["fingerprint"]["enum"] == json(words<model::Fingerprint>()));
  CHECK(verdict["state"]["enum"] == json(words<model::VerdictState>()));
  CHECK(verdict["confidence"]["enum"] == json(words<model::Confidence>()));
  CHECK(verdict["view"]["enum"] == json(words<model::View>()));
  const json& fingerprint = defs["fingerprint"]["properties"];
  CHECK(fingerprint["id"]["enum"] == json(words<model::Fingerprint>()));
  CHECK(fingerprint["id"]["not"]["const"] == "none");
  CHECK(fingerprint["source"]["enum"] == json(words<model::Source>()));
  CHECK(defs["member"]["properties"]["state"]["enum"] == json(words<model::MemberState>()));
  CHECK(defs["worker"]["properties"]["state"]["enum"] == json(words<model::WorkerState>()));
  CHECK(defs["collective"]["properties"]["outcome"]["enum"] == json(words<model::Outcome>()));
  CHECK(defs["collective"]["properties"]["collective"]["enum"] == json(words<model::Collective>()));
}

TEST_CASE("what two schemas both define, they define alike") {
  const json status = schema("status");
  CHECK(schema("verdicts")["$defs"]["verdict"] == status["$defs"]["verdict"]);
  CHECK(schema("fingerprints")["$defs"]["fingerprint"] == status["$defs"]["fingerprint"]);
  json event = schema("event");
  for (const char* key : {"$schema", "title", "$defs"}) event.erase(key);
  CHECK(schema("events")["$defs"]["event"] == event);
  const json& in_event = event["allOf"][0]["then"]["properties"];
  for (const auto& [key, value] : status["$defs"]["verdict"]["properties"].items()) {
    if (key != "state") CHECK(in_event[key] == value);
  }
}
