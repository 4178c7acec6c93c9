// SPDX-License-Identifier: Apache-2.0
//
// configs/collwatch.yaml and docs/configuration.md say what the code does, and nothing else. After
// a change of the key table: UPDATE_GOLDEN=1 build/dev/bin/test_unit_config, and read the diff.
#include <cstdlib>
#include <fstream>

#include "daemon/config/keys.h"
#include "daemon/config/print.h"
#include "daemon/config/yaml.h"
#include "tests/support/catch.h"
#include "tests/unit/config/cases.h"

using namespace collwatch;

namespace {

constexpr const char* kManual = COLLWATCH_SOURCE_DIR "/configs/collwatch.yaml";
constexpr const char* kReference = COLLWATCH_SOURCE_DIR "/docs/configuration.md";
const std::string kBegin = "<!-- keys: begin -->\n";
const std::string kEnd = "<!-- keys: end -->\n";

/// Every leaf of the manual by its full key.
void collect(const config::Tree& section, const std::string& prefix,
             std::map<std::string, const config::Tree*>& leaves) {
  for (const auto& entry : section.entries) {
    const std::string key = prefix + entry.key;
    if (config::find_key(key) == nullptr && entry.value.shape == config::Tree::Shape::section) {
      collect(entry.value, key + ".", leaves);
    } else {
      INFO(key);
      CHECK(leaves.emplace(key, &entry.value).second);
    }
  }
}

void keep_or_check(const std::string& path, const std::string& wanted) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(path) << wanted;
  CHECK(test::read_text(path) == wanted);
}

}  // namespace

TEST_CASE("the manual lists exactly the keys, each at the default that config.h gives") {
  const auto manual = config::read_yaml(kManual);
  REQUIRE(manual);
  std::map<std::string, const config::Tree*> leaves;
  collect(*manual, "", leaves);
  const config::Config defaults;
  for (const config::Key& key : config::keys()) {
    INFO(key.name);
    const auto leaf = leaves.find(key.name);
    REQUIRE(leaf != leaves.end());
    config::Config loaded;
    std::string complaint;
    key.apply(*leaf->second, loaded,
              {[&](int, const std::string& text) { complaint = text; },
               [&](int, const std::string& text) { complaint = text; }});
    CHECK(complaint.empty());
    if (key.name != "node") CHECK(key.show(loaded) == key.show(defaults));
    leaves.erase(leaf);
  }
  for (const auto& leaf : leaves) FAIL_CHECK("the manual has an unknown key: " << leaf.first);
}

TEST_CASE("the manual is what the key table says, comments included") {
  keep_or_check(kManual, config::manual());
}

TEST_CASE("the reference's table is what the key table says") {
  const std::string text = test::read_text(kReference);
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  keep_or_check(kReference, text.substr(0, begin + kBegin.size()) + config::reference_table() +
                                text.substr(end));
}

TEST_CASE("the manual and the example member file load") {
  config::Sources sources;
  sources.file = kManual;
  sources.host = test::case_host();
  sources.flags = {{"node", "n0"},
                   {"membership.file", COLLWATCH_SOURCE_DIR "/configs/peers.example.yaml"},
                   {"peers.insecure", "true"}};
  const auto config = config::load(sources);
  REQUIRE(config);
  CHECK(config->warnings.empty());
  CHECK(config->membership.members.size() == 4);
}

TEST_CASE("a key's environment variable and flag are made from its name") {
  CHECK(config::environment_name("probes.edge.interval") == "COLLWATCH_PROBES__EDGE__INTERVAL");
  CHECK(config::environment_name("peers.token_file") == "COLLWATCH_PEERS__TOKEN_FILE");
}
