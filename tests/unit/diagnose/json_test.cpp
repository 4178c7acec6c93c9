// SPDX-License-Identifier: Apache-2.0
//
// The JSON against docs/schema/diagnosis.json: by a real validator where python3-jsonschema is
// installed, and the closed set of fingerprints everywhere.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/diagnose/print.h"
#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;
using nlohmann::json;

namespace {

constexpr const char* kSchema = COLLWATCH_SOURCE_DIR "/docs/schema/diagnosis.json";

int validate(const std::string& document) {
  const std::string command =
      std::string("python3 " COLLWATCH_SOURCE_DIR "/tests/unit/json/validate.py ") + kSchema;
  FILE* const validator = popen(command.c_str(), "w");
  REQUIRE(validator != nullptr);
  std::fwrite(document.data(), 1, document.size(), validator);
  const int status = pclose(validator);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("every diagnosis is valid against its schema") {
  if (std::system("python3 -c 'from jsonschema import Draft202012Validator' 2>/dev/null") != 0) {
    std::cout << "SKIPPED: python3-jsonschema is not installed (or is older than draft 2020-12)\n";
    return;
  }
  std::set<std::pair<std::string, bool>> seen;  // a validator's start takes longer than a diagnosis
  for (const Case& one : cases()) {
    INFO(one.name);
    const Diagnosis diagnosis = diagnose_paths({one.logs.string()});
    const auto [fingerprint, rank] = essence(diagnosis);
    if (!seen.emplace(fingerprint, rank.has_value()).second) continue;
    CHECK(validate(to_json(diagnosis)) == 0);
  }
}

TEST_CASE("the schema knows every fingerprint, in the order of the vocabulary") {
  const json schema = json::parse(read_file(kSchema));
  std::vector<std::string> words;
  for (const auto name : model::Names<model::Fingerprint>::value) words.emplace_back(name);
  CHECK(schema["$defs"]["fingerprint"]["enum"] == json(words));
}

TEST_CASE("bytes that are no UTF-8 come out as valid JSON") {
  const auto diagnosis = engine().run_text(
      "[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: \xff\xfe bad \x80 "
      "\xc3\x28\n",
      "x.log");
  REQUIRE(diagnosis.has_value());
  const json parsed = json::parse(to_json(*diagnosis));
  CHECK(parsed["verdict"]["fingerprint"] == "worker_exit");
  CHECK(parsed["verdict"]["initiating"]["rank"] == 1);
}

TEST_CASE("peers have the port that the system knows, not the one with exchanged bytes") {
  const auto diagnosis = engine().run_text(
      "[rank0]: RuntimeError: [./gloo/transport/tcp/pair.cc:534] Connection closed by peer "
      "[10.0.0.2]:42097\n",
      "rank0.log");
  REQUIRE(diagnosis.has_value());
  REQUIRE(diagnosis->findings.size() == 1);
  CHECK(diagnosis->findings[0].fields.at("peer") == "10.0.0.2:29092");
}
