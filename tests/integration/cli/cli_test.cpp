// SPDX-License-Identifier: Apache-2.0
//
// The built program against a fake agent: what it prints where, and every exit code it promises.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "exporters/json/documents.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/integration/cli/fake_agent.h"
#include "tests/integration/cli/program.h"
#include "tests/support/catch.h"

using namespace collwatch;
using test::run_collwatch;
namespace fs = std::filesystem;

namespace {

/// A port on which nothing listens: 1 is reserved and needs privileges.
constexpr const char* kNobody = "http://127.0.0.1:1";

std::string status_json() {
  return exporters::status_json(test::sample_snapshot());
}

std::string quiet_json() {
  auto s = test::sample_snapshot();
  s.verdicts.clear();
  for (auto& member : s.members) member.state = model::MemberState::ok;
  return exporters::status_json(s);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "collwatch-cli-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ / name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  fs::path path_;
};

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* kGoodConfig =
    "node: n1\npeers: {insecure: true}\nmembership: {static: [n1, n2]}\n";

}  // namespace

TEST_CASE("status begins with the sentence and has no colour in a file") {
  const test::FakeAgent agent({{"/api/v1/status", {200, status_json()}}});
  const auto ran = run_collwatch({"status", "--url", agent.url()});
  CHECK(ran.code == 0);
  CHECK(ran.err.empty());
  CHECK(first_line(ran.out).find(
            "node node-c is down (host_stall), seen by node-a, node-b since ") == 0);
  CHECK(ran.out.find('\033') == std::string::npos);
}

TEST_CASE("status --json is the agent's own words, and the URL may come from the environment") {
  const test::FakeAgent agent({{"/api/v1/status", {200, status_json()}}});
  const auto ran = run_collwatch({"status", "--json"}, {{"COLLWATCH_URL", agent.url()}});
  CHECK(ran.code == 0);
  CHECK(ran.out == status_json() + "\n");
}

TEST_CASE("an agent that does not answer, or is none, is exit 3 with a sentence") {
  const auto nobody = run_collwatch({"status", "--url", kNobody});
  CHECK(nobody.code == 3);
  CHECK(nobody.out.empty());
  CHECK(first_line(nobody.err) ==
        "collwatch: no agent answers at http://127.0.0.1:1: Connection refused");
  const test::FakeAgent other({{"/api/v1/status", {200, "<html>"}}});
  const auto stranger = run_collwatch({"status", "--url", other.url()});
  CHECK(stranger.code == 3);
  CHECK(stranger.err ==
        "collwatch: " + other.url() + ": the reply is not a collwatch agent's status\n");
  const test::FakeAgent empty({});
  CHECK(run_collwatch({"status", "--url", empty.url()}).err.find("answers 404") !=
        std::string::npos);
}

TEST_CASE("check is one line and its exit code") {
  const test::FakeAgent bad({{"/api/v1/status", {200, status_json()}}, {"/healthz", {200, "ok"}}});
  const auto critical = run_collwatch({"check", "--url", bad.url()});
  CHECK(critical.code == 2);
  CHECK(critical.out.find("COLLWATCH CRITICAL: node node-c host_stall") == 0);
  CHECK(critical.out.find('\n') == critical.out.size() - 1);
  CHECK(critical.out.size() <= 81);
  CHECK(run_collwatch({"check", "--npd", "--url", bad.url()}).code == 1);

  const test::FakeAgent good({{"/api/v1/status", {200, quiet_json()}}, {"/healthz", {200, "ok"}}});
  const auto ok = run_collwatch({"check", "--url", good.url()});
  CHECK(ok.code == 0);
  CHECK(ok.out == "COLLWATCH OK: All 4 members healthy, round 402, 0.5 s ago.\n");
}

TEST_CASE("check says unknown of nobody, and of an agent whose loop is stuck") {
  const auto nobody = run_collwatch({"check", "--url", kNobody});
  CHECK(nobody.code == 3);
  CHECK(nobody.out ==
        "COLLWATCH UNKNOWN: no agent answers at http://127.0.0.1:1: Connection refused\n");
  CHECK(run_collwatch({"check", "--npd", "--url", kNobody}).code == 2);
  const test::FakeAgent stuck(
      {{"/api/v1/status", {200, quiet_json()}}, {"/healthz", {503, "stuck"}}});
  const auto ran = run_collwatch({"check", "--url", stuck.url()});
  CHECK(ran.code == 3);
  CHECK(ran.out == "COLLWATCH UNKNOWN: the agent's loop is stuck\n");
}

TEST_CASE("usage errors are 2, for check 3, and go to stderr") {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"--bogus"},
                                                       {"status", "--bogus"},
                                                       {"config"},
                                                       {"config", "check"},
                                                       {"config", "init"},
                                                       {"config", "init", "--peers", "a"},
                                                       {"demo", "--nodes", "9"},
                                                       {"demo", "--nodes", "x"},
                                                       {"demo", "--duration", "5"},
                                                       {"demo", "--base-port", "80"}};
  for (const auto& arguments : wrong) {
    const auto ran = run_collwatch(arguments);
    INFO(ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK_FALSE(ran.err.empty());
  }
  CHECK(run_collwatch({"check", "--bogus"}).code == 3);
  CHECK(run_collwatch({"check", "--bogus", "--npd"}).code == 2);
  CHECK(run_collwatch({"stauts"}).err ==
        "collwatch: 'stauts' is no command; did you mean status?\n");
}

TEST_CASE("what later versions have is said to be missing from this one") {
  for (const char* command : {"top", "preflight", "simulate"}) {
    const auto ran = run_collwatch({command, "--whatever"});
    CHECK(ran.code == 2);
    CHECK(ran.err == std::string("collwatch: ") + command + ": not in this version\n");
  }
  CHECK(run_collwatch({"status", "--fleet"}).err ==
        "collwatch: status --fleet: not in this version\n");
}

TEST_CASE("explain takes a line of a log as it is, brackets included") {
  const auto known =
      run_collwatch({"explain", "[rank1]: Backend gloo does not support alltoall [x]"});
  CHECK(known.code == 0);
  CHECK(known.out.find("\ngloo_unsupported_op  (gloo)\n") != std::string::npos);
  const auto bracketed = run_collwatch({"explain", "[Duplicate GPU detected, here]"});
  CHECK(bracketed.out.find("nccl_duplicate_gpu  (nccl)\n") != std::string::npos);
  CHECK(run_collwatch({"explain", "--layer", "nccl"}).code == 0);
  CHECK(run_collwatch({"explain", "pizza", "recipe"}).code == 4);
  CHECK(run_collwatch({"explain", "--format", "pizza"}).code == 2);
}

TEST_CASE("help and version are no errors") {
  CHECK(run_collwatch({"--help"}).code == 0);
  CHECK(run_collwatch({"demo", "--help"}).out.find("--fault") != std::string::npos);
  CHECK(run_collwatch({"version"}).out == "collwatch " COLLWATCH_VERSION "\n");
  CHECK(run_collwatch({"--version"}).out == run_collwatch({"version"}).out);
}

TEST_CASE("config check answers with one line or with every error") {
  const Folder folder;
  const std::string good = folder.write("good.yaml", kGoodConfig);
  const auto ok = run_collwatch({"config", "check", good});
  CHECK(ok.code == 0);
  CHECK(ok.out == good + ": ok: node n1 of 2, status on 127.0.0.1:9781, peers on [::]:9782\n");
  const std::string bad =
      folder.write("bad.yaml", std::string(kGoodConfig) + "probes:\n  edge:\n    intervall: 1s\n");
  const auto failed = run_collwatch({"config", "check", bad});
  CHECK(failed.code == 2);
  CHECK(failed.out.empty());
  CHECK(failed.err ==
        bad + ":6: probes.edge.intervall: unknown key; did you mean probes.edge.interval?\n");
  CHECK(run_collwatch({"config", "check", folder / "none.yaml"}).err ==
        (folder / "none.yaml") + ": cannot be read: No such file or directory\n");
}

TEST_CASE("config print shows flag over environment over file") {
  const Folder folder;
  const std::string good = folder.write("good.yaml", kGoodConfig);
  const auto ran = run_collwatch(
      {"config", "print", "--config", good, "--probes.edge.interval", "2s"},
      {{"COLLWATCH_PROBES__EDGE__INTERVAL", "3s"}, {"COLLWATCH_PROBES__GLOO__INTERVAL", "30s"}});
  CHECK(ran.code == 0);
  CHECK(ran.out.find("    interval: 2s\n") != std::string::npos);
  CHECK(ran.out.find("    interval: 30s\n") != std::string::npos);
  const auto unknown =
      run_collwatch({"config", "print", "--config", good, "--probes.edge.intervall", "2s"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err ==
        "--probes.edge.intervall: unknown key; did you mean --probes.edge.interval?\n");
  const auto variable =
      run_collwatch({"config", "print", "--config", good}, {{"COLLWATCH_LITSEN", "x"}});
  CHECK(variable.code == 2);
  CHECK(variable.err == "COLLWATCH_LITSEN: unknown key; did you mean COLLWATCH_LISTEN?\n");
}

TEST_CASE(
    "config init writes a pair that loads, with a secret of its own, and overwrites nothing") {
  const Folder folder;
  const std::string there = folder / "etc/collwatch";
  const auto made = run_collwatch({"config", "init", "--peers", "a,b=10.0.0.2", "--dir", there});
  CHECK(made.code == 0);
  const std::string token = contents(there + "/collwatch.token");
  CHECK(token.size() == 65);
  struct stat facts {};
  REQUIRE(stat((there + "/collwatch.token").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777U) == 0600U);
  const auto checked = run_collwatch({"config", "check", there + "/collwatch.yaml", "--node", "a"});
  CHECK(checked.code == 0);
  CHECK(checked.err.empty());

  const auto again = run_collwatch({"config", "init", "--peers", "a,b", "--dir", there});
  CHECK(again.code == 2);
  CHECK(again.err ==
        "collwatch: " + there + "/collwatch.yaml: exists already; it was left alone\n");
  CHECK(contents(there + "/collwatch.token") == token);

  fs::remove(there + "/collwatch.yaml");
  CHECK(run_collwatch({"config", "init", "--peers", "a,b", "--dir", there}).err ==
        "collwatch: " + there + "/collwatch.token: exists already; it was left alone\n");
  CHECK_FALSE(fs::exists(there + "/collwatch.yaml"));

  const std::string elsewhere = folder / "other";
  REQUIRE(run_collwatch({"config", "init", "--peers", "a,b", "--dir", elsewhere}).code == 0);
  CHECK(contents(elsewhere + "/collwatch.token") != token);
}

TEST_CASE("config init refuses peers that could not be members") {
  const Folder folder;
  const auto said = [&](const std::string& peers) {
    const auto ran = run_collwatch({"config", "init", "--peers", peers, "--dir", folder / "x"});
    CHECK(ran.code == 2);
    CHECK_FALSE(fs::exists(folder / "x"));
    return ran.err;
  };
  CHECK(said("a,a") == "collwatch: --peers: 'a' is listed twice\n");
  CHECK(said("a,b<->c") == "collwatch: --peers: 'b<->c' is not a host name or address\n");
  CHECK(said("1,2,3,4,5,6,7,8,9") ==
        "collwatch: --peers: at most 8 members in this version (got 9)\n");
}

TEST_CASE(
    "inspect needs no agent, shows a process that is asked for, and says which is not there") {
  const auto all = run_collwatch({"inspect", "--once"});
  CHECK(all.code == 0);
  CHECK(all.err.empty());
  CHECK(all.out.find("looked at ") != std::string::npos);
  const std::string pid = std::to_string(getpid());
  const auto one = run_collwatch({"inspect", "--once", "--json", "--pid", pid});
  CHECK(one.code == 0);
  CHECK(one.out.find("\"pid\": " + pid + ",") != std::string::npos);
  CHECK(one.out.find("\"window_seconds\": null") != std::string::npos);
  const auto none = run_collwatch({"inspect", "--once", "--pid", "2147483646"});
  CHECK(none.code == 2);
  CHECK(none.err == "collwatch: there is no process 2147483646 that can be read here\n");
  CHECK(run_collwatch({"inspect", "--pid", "-4"}).code == 2);
}

TEST_CASE("what is printed and does not arrive is an error, for every command") {
  const test::FakeAgent agent({{"/api/v1/status", {200, quiet_json()}}, {"/healthz", {200, "ok"}}});
  const std::string logs = COLLWATCH_SOURCE_DIR "/tests/cases/diagnose/torchrun-oom-5/logs";
  const std::vector<std::vector<std::string>> commands = {
      {"explain"},
      {"explain", "gloo_peer_lost"},
      {"diagnose", logs},
      {"diagnose", "--format", "json", logs},
      {"inspect", "--once"},
      {"status", "--url", agent.url()},
      {"status", "--json", "--url", agent.url()},
      {"version"},
      {"--version"},
      {"--help"},
      {"config", "check", COLLWATCH_SOURCE_DIR "/configs/fingerprints/gloo.yaml"}};
  for (const std::string output : {"/dev/full", ""}) {
    for (const std::vector<std::string>& command : commands) {
      CAPTURE(output, command);
      const auto ran = test::run_collwatch_onto(output, command);
      CHECK(ran.code == 2);
      CHECK(ran.err.find("collwatch: standard output cannot be written") != std::string::npos);
    }
    const std::vector<std::string> check = {"check", "--url", agent.url()};
    CHECK(test::run_collwatch(check).code == 0);
    CHECK(test::run_collwatch_onto(output, check).code == 3);
    CHECK(test::run_collwatch_onto(output, {"check", "--npd", "--url", agent.url()}).code == 2);
  }
}

TEST_CASE("choices and pids are told in words") {
  const auto help = run_collwatch({"diagnose", "--help"});
  CHECK(help.out.find("text|json|markdown") != std::string::npos);
  CHECK(help.out.find("ENUM") == std::string::npos);
  CHECK(run_collwatch({"explain", "--help"}).out.find("text|markdown") != std::string::npos);
  CHECK(run_collwatch({"diagnose", "--format", "xml", "-"})
            .err.find("'xml' is none of text|json|markdown") != std::string::npos);
  for (const std::string pid : {"0", "-3", "x", "99999999999"}) {
    const auto ran = run_collwatch({"inspect", "--pid=" + pid});
    CAPTURE(ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.err.find("'" + pid + "' is no process") != std::string::npos);
  }
}

TEST_CASE("config check: an empty file and an empty list of fingerprints") {
  const Folder folder;
  const std::string list = folder.write("list.yaml", "fingerprints: []\n");
  const auto none = run_collwatch({"config", "check", list});
  CHECK(none.code == 2);
  CHECK(none.err == "collwatch: " + list + ":1: fingerprints: the list is empty\n");
  const std::string empty = folder.write("empty.yaml", "# nothing\n");
  const auto nothing = run_collwatch({"config", "check", empty});
  CHECK(nothing.code == 2);
  CHECK(nothing.err.find(empty + ": holds nothing") != std::string::npos);
}
