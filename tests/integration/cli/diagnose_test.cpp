// SPDX-License-Identifier: Apache-2.0
//
// `collwatch diagnose` and `explain` as programs: exit codes, standard input, formats, the user's
// own fingerprints, and the word of an agent's probes.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "exporters/json/documents.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/integration/cli/fake_agent.h"
#include "tests/integration/cli/program.h"
#include "tests/support/catch.h"

using namespace collwatch;
using nlohmann::json;
using test::run_collwatch;
using test::run_collwatch_with_input;
namespace fs = std::filesystem;

namespace {

constexpr const char* kCases = COLLWATCH_SOURCE_DIR "/tests/cases/diagnose/";

std::string logs_of(const std::string& name) {
  return kCases + name + "/logs";
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "collwatch-cli-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  std::string path() const { return path_; }

 private:
  fs::path path_;
};

json diagnosed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"diagnose", "--format", "json"});
  const auto ran = run_collwatch(arguments);
  INFO(ran.err);
  REQUIRE(ran.code <= 1);
  return json::parse(ran.out);
}

exporters::Snapshot quiet_agent(std::int64_t clean_rounds) {
  auto snapshot = test::sample_snapshot();
  snapshot.verdicts.clear();
  snapshot.recent_events.clear();
  snapshot.clean_rounds = clean_rounds;
  snapshot.local_health = 0;
  snapshot.round_age_seconds = 0.5;
  snapshot.workers = {{"gloo", model::WorkerState::running, ""}};
  return snapshot;
}

std::map<std::string, test::FakeReply> replies_of(const exporters::Snapshot& snapshot) {
  return {{"/api/v1/status", {200, exporters::status_json(snapshot)}},
          {"/api/v1/events", {200, exporters::events_json(snapshot)}}};
}

}  // namespace

TEST_CASE("diagnose: 0 nothing found, 1 a diagnosis, 2 input that cannot be read") {
  const Folder folder;
  CHECK(run_collwatch({"diagnose", logs_of("torch-2.6.0-ok_env")}).code == 0);
  CHECK(run_collwatch({"diagnose", folder.write("empty.log", "")}).code == 0);
  CHECK(run_collwatch({"diagnose", logs_of("torchrun-oom-5")}).code == 1);
  const auto missing = run_collwatch({"diagnose", folder.path() + "/none.log"});
  CHECK(missing.code == 2);
  CHECK(missing.out.empty());
  CHECK(missing.err == "collwatch: " + folder.path() + "/none.log: no such file or folder\n");
  const Folder nothing;
  CHECK(run_collwatch({"diagnose", nothing.path()}).err ==
        "collwatch: there is no log in what was given\n");
  CHECK(run_collwatch({"diagnose", nothing.path()}).code == 2);
  CHECK(run_collwatch({"diagnose", "/proc/self/mem"}).code == 2);
  const std::string head("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);  // of an archive, and no more
  const auto cut = run_collwatch({"diagnose", nothing.write("cut.log.gz", head)});
  CHECK(cut.code == 2);
  CHECK(cut.out.find("the archive ends early; no line of it could be read") != std::string::npos);
  CHECK(run_collwatch({"diagnose", "--format", "xml", "-"}).code == 2);
  CHECK(run_collwatch({"diagnose", "--bogus"}).code == 2);
}

TEST_CASE("diagnose: one file that cannot be read is told, the others are read") {
  const Folder folder;
  folder.write("rank0.log", "[rank0]: step 1\n");
  fs::create_symlink("/proc/self/mem", fs::path(folder.path()) / "rank1.log");  // I/O error
  const auto healthy = run_collwatch({"diagnose", folder.path()});
  CHECK(healthy.code == 2);
  CHECK(healthy.out.find("rank1.log, which cannot be read: ") != std::string::npos);
  CHECK(healthy.err.find("collwatch: not read: " + folder.path() + "/rank1.log") == 0);
  folder.write("rank2.log",
               "[rank2]: Traceback (most recent call last):\n[rank2]: ValueError: x\n");
  const auto failed = run_collwatch({"diagnose", "--redact", folder.path()});
  CHECK(failed.code == 1);
  CHECK(failed.out.rfind("worker_exit  rank 2", 0) == 0);
  CHECK(failed.out.find("rank1.log, which cannot be read: ") != std::string::npos);
  CHECK((failed.out + failed.err).find(folder.path()) == std::string::npos);
}

TEST_CASE("diagnose: --agent without a name is no agent") {
  const auto ran = run_collwatch({"diagnose", "--agent", "", logs_of("torchrun-oom-5")});
  CHECK(ran.code == 2);
  CHECK(ran.out.empty());
  CHECK(ran.err == "collwatch: --agent: names no agent\n");
}

TEST_CASE("diagnose: the formats, without colour in a file") {
  const std::string logs = logs_of("torchrun-oom-5");
  const auto text = run_collwatch({"diagnose", logs});
  CHECK(text.out.rfind("cuda_oom  rank 5", 0) == 0);
  CHECK(text.out.find('\x1b') == std::string::npos);
  CHECK(text.err.empty());
  const auto markdown = run_collwatch({"diagnose", "--format", "markdown", logs});
  CHECK(markdown.out.rfind("## collwatch: `cuda_oom`, rank 5", 0) == 0);
  CHECK(diagnosed({logs})["verdict"]["initiating"]["rank"] == 5);
}

TEST_CASE("diagnose: standard input, by - and by nothing, a pipe of any size, an archive") {
  const std::string journal =
      "Nov 30 05:05:48 node-b train[48213]: [rank3]: Traceback (most recent call last):\n"
      "Nov 30 05:05:48 node-b train[48213]: [rank3]: ValueError: no\n"
      "Nov 30 05:05:49 node-b systemd[1]: train.service: Main process exited, code=exited\n";
  std::string large;
  while (large.size() < 3000000) large += "Nov 30 05:05:49 node-b train[48213]: step 1 loss 2\n";
  for (const std::string& input : {journal, large + journal}) {
    for (const std::vector<std::string>& names :
         {std::vector<std::string>{"-"}, std::vector<std::string>{}}) {
      std::vector<std::string> arguments = {"diagnose", "--format", "json"};
      arguments.insert(arguments.end(), names.begin(), names.end());
      const auto ran = run_collwatch_with_input(arguments, input);
      CHECK(ran.code == 1);
      const json diagnosis = json::parse(ran.out);
      CHECK(diagnosis["verdict"]["fingerprint"] == "worker_exit");
      CHECK(diagnosis["verdict"]["initiating"]["rank"] == 3);
      CHECK(diagnosis["verdict"]["initiating"]["host"] == "node-b");
      CHECK(diagnosis["verdict"]["initiating"]["file"] == "-");
    }
  }
  CHECK(run_collwatch_with_input({"diagnose", "-"}, "").code == 0);
  // One more log beside a file.
  const auto both = run_collwatch_with_input(
      {"diagnose", "--format", "json", "-", kCases + std::string("xid-48-pid/logs/train.log")},
      contents(logs_of("xid-48-pid") + "/kern.log"));
  CHECK(json::parse(both.out)["verdict"]["fingerprint"] == "gpu_hardware_xid");
}

TEST_CASE("diagnose: --redact leaves no path") {
  const auto ran = run_collwatch({"diagnose", "--redact", logs_of("torch-2.6.0-kill9_rank1_env")});
  CHECK(ran.out.find(COLLWATCH_SOURCE_DIR) == std::string::npos);
  CHECK(ran.out.find("folder-1/rank1.log") != std::string::npos);
}

TEST_CASE("diagnose and explain take files of the user's own fingerprints") {
  const Folder folder;
  const std::string mine = folder.write("mine.yaml", R"(fingerprints:
  - id: cuda_oom
    fix: Ask the capacity team.
    patterns:
      - {id: our_allocator, match: 'arena exhausted on rank (?P<rank>\d+)', role: initiating}
)");
  const std::string log = folder.write("rank2.log", "step 1\narena exhausted on rank 2\n");
  CHECK(run_collwatch({"diagnose", log}).code == 0);
  const json diagnosis = diagnosed({"--fingerprints", mine, log});
  CHECK(diagnosis["verdict"]["fingerprint"] == "cuda_oom");
  CHECK(diagnosis["verdict"]["fix"] == "Ask the capacity team.");
  const auto explained =
      run_collwatch({"explain", "--fingerprints", mine, "arena exhausted on rank 7"});
  CHECK(explained.code == 0);
  CHECK(explained.out.find("Ask the capacity team.") != std::string::npos);
  CHECK(run_collwatch({"explain", "arena exhausted on rank 7"}).out.find("capacity team") ==
        std::string::npos);
  const std::string second =
      folder.write("second.yaml", "fingerprints: [{id: cuda_oom, fix: Wait.}]");
  CHECK(diagnosed({"--fingerprints", mine, "--fingerprints", second, log})["verdict"]["fix"] ==
        "Wait.");

  const std::string wrong = folder.write("wrong.yaml", "fingerprints: [{id: cuda_oom, fixx: x}]");
  for (const char* command : {"diagnose", "explain"}) {
    const auto ran = run_collwatch({command, "--fingerprints", wrong, log});
    CHECK(ran.code == 2);
    CHECK(ran.err.find(wrong + ":1: cuda_oom.fixx: unknown key; did you mean fix?") !=
          std::string::npos);
  }
  const auto checked = run_collwatch({"config", "check", mine});
  CHECK(checked.out == mine + ": ok: fingerprints, 1 new patterns\n");
  CHECK(checked.err.empty());
  const std::string slow = folder.write(
      "slow.yaml", "fingerprints: [{id: cuda_oom, patterns: [{id: digits, match: '[0-9]+ x'}]}]");
  CHECK(run_collwatch({"config", "check", slow}).err.find("'digits' holds no word") !=
        std::string::npos);
  CHECK(run_collwatch({"config", "check", wrong}).code == 2);
}

TEST_CASE("an agent whose network was well sends the reader to the rank's code") {
  const test::FakeAgent agent(replies_of(quiet_agent(300)));
  const json diagnosis = diagnosed({"--agent", agent.url(), logs_of("nccl-watchdog-silent-rank")});
  CHECK(diagnosis["agent"]["relation"] == "clean");
  CHECK(diagnosis["agent"]["clean_rounds"] == 300);
  CHECK(diagnosis["agent"]["node"] == "node-a");
  const auto text = diagnosis["agent"]["text"].get<std::string>();
  CHECK(text.find("clean for 300 rounds") != std::string::npos);
  CHECK(text.find("look at rank 2's code, not at the network") != std::string::npos);
  CHECK(diagnosis["verdict"]["why"].back() == text);
  CHECK(diagnosis["verdict"]["next_action"].get<std::string>().find("rank 2's code") !=
        std::string::npos);
  const auto printed =
      run_collwatch({"diagnose", "--agent", agent.url(), logs_of("nccl-watchdog-silent-rank")});
  CHECK(printed.code == 1);
  CHECK(printed.out.find("\nProbes\n  the fabric has been clean") != std::string::npos);
}

TEST_CASE("an agent that accuses a link makes the log's timeout its echo") {
  auto snapshot = quiet_agent(0);
  exporters::Verdict verdict = test::sample_node_verdict();
  verdict.kind = model::Kind::link;
  verdict.entity = "node-a<->node-b";
  verdict.reason = model::Reason::unreachable;
  snapshot.verdicts = {verdict};
  const test::FakeAgent agent(replies_of(snapshot));
  const json diagnosis = diagnosed({"--agent", agent.url(), logs_of("torch-1.13.1-busy_rank1")});
  CHECK(diagnosis["agent"]["relation"] == "culprit");
  CHECK(diagnosis["agent"]["text"].get<std::string>() ==
        "the probes say: link node-a<->node-b (unreachable) has been failing since "
        "2023-11-14T22:13:23.250Z; the log's timeout is its echo");
  CHECK(diagnosis["verdict"]["next_action"].get<std::string>().find(
            "Repair link node-a<->node-b") == 0);
  CHECK(diagnosis["verdict"]["fingerprint"] == "gloo_collective_timeout");
  // An error of a rank's own is not the network's.
  const json own = diagnosed({"--agent", agent.url(), logs_of("torchrun-oom-5")});
  CHECK(own["agent"]["relation"] == "beside");
  CHECK(own["verdict"]["next_action"].get<std::string>().find("link") == std::string::npos);
  // Where logs find nothing, the word is told and nothing is diagnosed.
  const auto healthy =
      run_collwatch({"diagnose", "--agent", agent.url(), logs_of("torch-2.6.0-ok_env")});
  CHECK(healthy.code == 0);
  CHECK(healthy.out.find("of which these logs show nothing") != std::string::npos);
  // Names of the agent's world are redacted, too.
  const auto redacted = run_collwatch({"diagnose", "--redact", "--format", "json", "--agent",
                                       agent.url(), logs_of("torch-1.13.1-busy_rank1")});
  CHECK(redacted.out.find("node-a") == std::string::npos);
  CHECK(redacted.out.find("node-b") == std::string::npos);
}

TEST_CASE("an accused node is the culprit where the logs name nobody") {
  auto snapshot = quiet_agent(0);
  snapshot.verdicts = {test::sample_node_verdict()};
  const test::FakeAgent agent(replies_of(snapshot));
  const Folder folder;
  const std::string log =
      folder.write("job.log",
                   "RuntimeError: [../gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting "
                   "10000ms for recv operation to complete\n");
  const json alone = diagnosed({log});
  CHECK(alone["verdict"]["initiating"].is_null());
  CHECK_FALSE(alone.contains("agent"));
  const json joined = diagnosed({"--agent", agent.url(), log});
  CHECK(joined["verdict"]["initiating"]["host"] == "node-c");
  CHECK(joined["verdict"]["confidence"] == "medium");
}

TEST_CASE("a fault that is over is told with its time") {
  auto snapshot = quiet_agent(20);
  exporters::Event page;
  page.type = "verdict";
  page.state = "page";
  page.time = test::at_second(5);
  page.verdict = test::sample_node_verdict();
  exporters::Event cleared = page;
  cleared.state = "cleared";
  cleared.time = test::at_second(400);
  snapshot.recent_events = {page, cleared};
  const test::FakeAgent agent(replies_of(snapshot));
  const json diagnosis = diagnosed({"--agent", agent.url(), logs_of("torch-1.13.1-busy_rank1")});
  CHECK(diagnosis["agent"]["relation"] == "past");
  CHECK(diagnosis["agent"]["text"].get<std::string>().find(
            "node node-c (host_stall) failed from 2023-11-14T22:13:23.250Z to "
            "2023-11-14T22:20:00.000Z; if the log is of that time") != std::string::npos);
  // A log that tells its time settles it.
  const Folder folder;
  const auto log_at = [&](const std::string& time) {
    return folder.write(
        "rank0.log", time +
                         " [rank0]: RuntimeError: "
                         "[../gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 10000ms "
                         "for recv operation to complete\n");
  };
  CHECK(diagnosed({"--agent", agent.url(),
                   log_at("2023-11-14T23:15:00+01:00")})["agent"]["relation"] == "culprit");
  // Twenty clean rounds do not reach back to then.
  CHECK(diagnosed({"--agent", agent.url(), log_at("2023-11-14T22:30:00Z")})["agent"]["relation"] ==
        "blind");
}

TEST_CASE("a URL with a secret is refused by all who ask an agent, and shown by none") {
  const std::string url = "http://user:s3cret@127.0.0.1:1";
  const std::string logs = logs_of("torchrun-oom-5");
  for (const auto& [arguments, code] : std::vector<std::pair<std::vector<std::string>, int>>{
           {{"diagnose", "--agent", url, logs}, 2},
           {{"diagnose", "--redact", "--format", "json", "--agent", url, logs}, 2},
           {{"status", "--url", url}, 2},
           {{"check", "--url", url}, 3},  // Nagios: 2 would be critical
           {{"check", "--npd", "--url", url}, 2}}) {
    const auto ran = run_collwatch(arguments);
    INFO(arguments.front());
    CHECK(ran.code == code);
    CHECK((ran.out + ran.err).find("s3cret") == std::string::npos);
    CHECK(ran.err.find("holds a user or a password") != std::string::npos);
  }
}

TEST_CASE("an agent that does not answer, or sees nothing, is said so and the diagnosis made") {
  const std::string logs = logs_of("torch-1.13.1-busy_rank1");
  const json plain = diagnosed({logs});
  const json nobody = diagnosed({"--agent", "http://127.0.0.1:1", logs});
  CHECK(nobody["agent"]["relation"] == "unreachable");
  CHECK(nobody["agent"]["node"].is_null());
  CHECK(nobody["verdict"]["fingerprint"] == plain["verdict"]["fingerprint"]);
  CHECK(nobody["verdict"]["initiating"] == plain["verdict"]["initiating"]);
  CHECK(nobody["verdict"]["missing_evidence"].back() ==
        "the probes' word: no agent answers at http://127.0.0.1:1: Connection refused");
  const auto text = run_collwatch({"diagnose", "--agent", "http://127.0.0.1:1", logs});
  CHECK(text.code == 1);
  CHECK(text.out.find("no agent answers at http://127.0.0.1:1") != std::string::npos);

  const test::FakeAgent stranger({{"/api/v1/status", {200, "<html>"}}});
  CHECK(diagnosed({"--agent", stranger.url(), logs})["agent"]["relation"] == "unreachable");
  auto stuck = quiet_agent(300);
  stuck.round_age_seconds = 90;
  const test::FakeAgent late(replies_of(stuck));
  const json blind = diagnosed({"--agent", late.url(), logs});
  CHECK(blind["agent"]["relation"] == "blind");
  CHECK(blind["agent"]["text"].get<std::string>().find("its last round is 90 s ago") !=
        std::string::npos);
  const test::FakeAgent fresh(replies_of(quiet_agent(3)));
  CHECK(diagnosed({"--agent", fresh.url(), logs})["agent"]["relation"] == "blind");
  // Without its events an agent still knows what stands.
  const test::FakeAgent old({{"/api/v1/status", {200, exporters::status_json(quiet_agent(300))}}});
  CHECK(diagnosed({"--agent", old.url(), logs})["agent"]["relation"] == "clean");
}
