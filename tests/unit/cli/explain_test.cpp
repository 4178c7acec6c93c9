// SPDX-License-Identifier: Apache-2.0
//
// `explain` and `config check` as programs: what they print where, and what they exit with.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "daemon/cli/commands.h"
#include "tests/support/catch.h"

using namespace collwatch;

namespace {

/// Both streams of this process for as long as it lives.
class Printed {
 public:
  Printed() : out_(std::cout.rdbuf(out.rdbuf())), err_(std::cerr.rdbuf(err.rdbuf())) {}
  ~Printed() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
  }
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;

  std::ostringstream out;
  std::ostringstream err;

 private:
  std::streambuf* out_;
  std::streambuf* err_;
};

struct Run {
  int code = 0;
  std::string out;
  std::string err;
};

Run explain(const cli::ExplainOptions& options) {
  Printed printed;
  const int code = cli::run_explain(options);
  return {code, printed.out.str(), printed.err.str()};
}

Run check(const std::string& yaml) {
  std::string folder = (std::filesystem::temp_directory_path() / "explain-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/file.yaml";
  std::ofstream(path) << yaml;
  Printed printed;
  const int code = cli::run_config_check(path, {});
  std::filesystem::remove_all(folder);
  return {code, printed.out.str(), printed.err.str()};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("explain: an entry or the table exits 0, an unknown thing 4") {
  const Run table = explain({});
  CHECK(table.code == 0);
  CHECK(has(table.out, "gloo_peer_lost "));

  const Run id = explain({{"gloo_peer_lost"}, "", false});
  CHECK(id.code == 0);
  CHECK(id.out.rfind("gloo_peer_lost  (gloo)\n", 0) == 0);

  const Run misspelt = explain({{"gloo_peer_last"}, "", false});
  CHECK(misspelt.code == 4);
  CHECK(misspelt.out.empty());
  CHECK(has(misspelt.err, "did you mean gloo_peer_lost?"));

  CHECK(explain({{"pizza", "recipe"}, "", false}).code == 4);
}

TEST_CASE("explain: words without quotes are one text, and the role of a text is said") {
  const Run words =
      explain({{"Connection", "closed", "by", "peer", "[10.0.0.4]:21445"}, "", false});
  CHECK(words.code == 0);
  CHECK(words.out.rfind("This text is collateral", 0) == 0);
  CHECK(has(words.out, "\ngloo_peer_lost  (gloo)\n"));
}

TEST_CASE("explain: a layer side by side, an unknown one names those that exist") {
  const Run nccl = explain({{}, "nccl", false});
  CHECK(nccl.code == 0);
  CHECK(has(nccl.out, "nccl_remote_error"));
  CHECK_FALSE(has(nccl.out, "store_timeout\n"));
  CHECK(explain({{"nccl"}, "", false}).out == nccl.out);
  const Run unknown = explain({{}, "pizza", false});
  CHECK(unknown.code == 4);
  CHECK(has(unknown.err, "there are gloo, store, collective, nccl, gpu, host"));
}

TEST_CASE("explain: markdown of an entry is a page") {
  const Run page = explain({{"cuda_oom"}, "", true});
  CHECK(page.code == 0);
  CHECK(page.out.rfind("# cuda_oom\n", 0) == 0);
}

TEST_CASE("config check: a file of fingerprints is told by its key and checked as such") {
  const Run good =
      check("fingerprints:\n  - id: straggler\n    patterns: [{id: mine, match: abc}]\n");
  CHECK(good.code == 0);
  CHECK(has(good.out, ": ok: fingerprints, 1 new patterns"));

  const Run bad = check("fingerprints:\n  - id: straggler\n    fixx: y\n");
  CHECK(bad.code == 2);
  CHECK(has(bad.err, ".yaml:3: straggler.fixx: unknown key; did you mean fix?"));

  const Run config = check("listen: 127.0.0.1:9781\n");
  CHECK_FALSE(has(config.out + config.err, "fingerprint"));
}
