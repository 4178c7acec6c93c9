// SPDX-License-Identifier: Apache-2.0
//
// Redaction as a property: however a line names its host, its writer's user, folder and addresses,
// and whatever the file is called, none of them is in any format of the redacted diagnosis. The
// same host has the same stand-in in all of it.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/diagnose/print.h"
#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;

namespace {

std::string with(std::string text, const std::string& host) {
  for (std::size_t at = text.find("HOST"); at != std::string::npos; at = text.find("HOST", at))
    text.replace(at, 4, host);
  if (const std::size_t key = text.find("_KEY"); key != std::string::npos)
    text.replace(key, 4, "_HOSTNAME");
  return text;
}

/// Each form of a line in which a host can be named before, or in, what a rank says.
const std::vector<std::string>& prefixes() {
  static const std::vector<std::string> all = {
      "[HOST:4711] [rank1]: %",
      "[HOST:4711] %",
      "[1,1]<stderr>:[HOST:4711] %",
      "[prterun-HOST-4711@1,1]<stderr>: %",
      "[proxy:0:1@HOST] %",
      "<14>1 2026-11-30T05:05:45.842Z HOST train 4711 - - [rank1]: %",
      "<14>Nov 30 05:05:49 HOST train[4711]: [rank1]: %",
      "Nov 30 05:05:49 HOST train[4711]: [rank1]: %",
      "Nov 30 05:05:49 HOST train.sh: [rank1]: %",
      "2026-11-30T05:05:49.123+00:00 HOST train[4711]: [rank1]: %",
      "Mon 2026-11-30 05:05:49 UTC HOST train[4711]: %",
      "1795928745.123456 HOST train[4711]: %",
      R"({"MESSAGE":"[rank1]: %","_KEY":"HOST","_PID":"4711","__REALTIME_TIMESTAMP":"1795928745123456"})",
      R"({"message":"%","rank":1,"hostname":"HOST","level":"error"})",
      R"({"severity":"error","hostname":"HOST","rank":1,"what":"%"})",
      R"({"log":"[rank1]: %\n","stream":"stderr","time":"2026-11-30T05:05:45Z","host":"HOST"})",
      "[pod/HOST/pytorch] [rank1]: %",
      "HOST pytorch [rank1]: %",
      "2026-11-30T05:05:45Z stderr F [HOST:4711] [rank1]: %",
      "HOST: [rank1]: %",
      "HOST | [rank1]: %",
      "HOST:4711:4750 [0] NCCL INFO x\n[rank1]: %",
      "[rank1]: (on node HOST) %",
      "srun: error: HOST: task 1: Exited with exit code 1\n[rank1]: %",
      "MASTER_ADDR=HOST\n[rank1]: at MASTER_ADDR=HOST %",
      "[rank1]: alice@HOST: %",
      "[rank1]: tcp://HOST:29500 %",
      "[rank1]: SLURM_NODELIST=HOST,gpu-[a18-a20] %",
      "[rank1]: The client socket cannot be initialized to connect to [HOST]:29500 %"};
  return all;
}

const std::vector<std::string>& bodies() {
  static const std::vector<std::string> all = {
      "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by "
      "peer "
      "[10.17.0.4]:42097",
      "ValueError: cannot open /home/alice/secret-project/x.bin for user alice, from "
      "[fd00:17::3]:80, s3://bucket-x/alice/y.bin",
      "torch.cuda.OutOfMemoryError: CUDA out of memory on GPU 0"};
  return all;
}

const std::vector<std::string> kHosts = {
    "gpu-a17", "gpu-a17.lab.example.org", "n7", "GPU-A17", "node0012", "ip-10-17-0-4"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Whether the secret stands in the text as a word of its own.
bool holds(const std::string& text, const std::string& secret) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(secret); at != std::string::npos;
       at = text.find(secret, at + 1)) {
    const std::size_t end = at + secret.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end])))
      return true;
  }
  return false;
}

std::vector<std::string> printed(const Diagnosis& diagnosis) {
  return {to_json(diagnosis), to_text(diagnosis, engine().catalogue(), false),
          to_text(diagnosis, engine().catalogue(), true),
          to_markdown(diagnosis, engine().catalogue())};
}

void check_clean(const Diagnosis& diagnosis, const std::set<std::string>& secrets) {
  for (const std::string& page : printed(diagnosis)) {
    const std::string text = lower(page);
    for (const std::string& secret : secrets) {
      if (holds(text, lower(secret))) FAIL_CHECK("'" << secret << "' is in\n" << page);
    }
  }
}

Diagnosis diagnosed(const std::string& name, const std::string& text) {
  auto diagnosis = engine().run_text(text, name);
  REQUIRE(diagnosis.has_value());
  return *diagnosis;
}

AgentWord word_of(const std::vector<std::string>& members) {
  AgentWord word;
  word.url = "http://" + members[0] + ":9781";
  word.answered = true;
  word.node = members[0];
  word.round = 400;
  word.clean_rounds = 300;
  word.asked_at = 1796100000;
  word.members = members;
  return word;
}

}  // namespace

TEST_CASE("whatever names the host, nothing of it is left in any format") {
  const std::set<std::string> others = {
      "alice", "secret-project", "10.17.0.4", "fd00:17::3", "gpu-[a18-", "a18", "bucket-x"};
  long told = 0;
  for (const std::string& prefix : prefixes()) {
    for (const std::string& host : kHosts) {
      for (const std::string& body : bodies()) {
        std::string line = with(prefix, host);
        line.replace(line.find('%'), 1, body);
        INFO(line);
        const std::string log = "[rank1]: Traceback (most recent call last):\n" + line + "\n";
        Diagnosis diagnosis = diagnosed(host + "/" + host + "-rank1.log", log);
        told += diagnosis.findings.empty() ? 0 : 1;
        redact(diagnosis);
        std::set<std::string> secrets = others;
        secrets.insert(host);
        secrets.insert(host.substr(0, host.find('.')));
        check_clean(diagnosis, secrets);
      }
    }
  }
  CHECK(told > 400);  // of 522: the property is about something
}

TEST_CASE("names of files say whose log it is, and no more") {
  for (const std::string& name : std::vector<std::string>{
           "gpu-a17.log", "gpu-a17_rank0.log", "rank0-gpu-a17.err", "rank0.gpu-a17.lab.log",
           "slurm-alice-4711.out", "athena-rank0.log", "secretproject.rank0.txt", "worker-3.log",
           "node0012/rank0.log", "10.17.0.4.log", "job_4711_gpu-a17_0.log"}) {
    INFO(name);
    Diagnosis diagnosis = diagnosed(
        name, "[rank0]: Traceback (most recent call last):\n[rank0]: ValueError: at gpu-a17\n");
    diagnosis.verdict.why.push_back("see " + name + ":2");
    redact(diagnosis);
    if (name.find("a17") != std::string::npos) check_clean(diagnosis, {"a17"});
    check_clean(diagnosis,
                {"alice", "athena", "secretproject", "lab", "worker-3", "node0012", "10.17.0.4"});
    const std::string text = to_text(diagnosis, engine().catalogue(), false);
    if (name.find("rank0") != std::string::npos) CHECK(text.find("rank0") != std::string::npos);
  }
}

TEST_CASE("a host has one stand-in, in text, fields, names of files and the agent's word") {
  const std::string log =
      "[gpu-a17:4711] [rank1]: Traceback (most recent call last):\n"
      "[gpu-a17:4711] [rank1]: ValueError: gpu-a17 and gpu-a17.lab.example.org and GPU-A17\n";
  Diagnosis diagnosis = diagnosed("gpu-a17.log", log);
  AgentWord word = word_of({"gpu-a17", "gpu-b3"});
  redact(diagnosis, &word);
  join(diagnosis, word);
  const Finding& finding = diagnosis.findings.at(0);
  CHECK(finding.text == "ValueError: host-1 and host-1 and host-1");
  CHECK(finding.host == "host-1");
  CHECK(finding.file == "host-1.log");
  CHECK(diagnosis.agent->node == "host-1");
  CHECK(diagnosis.agent->members == std::vector<std::string>{"host-1", "host-2"});
  CHECK(diagnosis.agent->url == "http://host-1:9781");
}

TEST_CASE("members called like words are hosts where they are named, and words elsewhere") {
  for (const std::vector<std::string>& members : std::vector<std::vector<std::string>>{
           {"a", "b", "c"}, {"node", "link", "on"}, {"1", "2", "3"}, {"n0", "n1", "n2"}}) {
    for (const std::string kind : {"link", "node", "directed_link", "partition"}) {
      Diagnosis diagnosis = diagnosed(
          "rank0.log",
          "2026-11-30T05:05:45Z [rank0]: RuntimeError: "
          "[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
          "[10.0.0.4]:42097\n");
      AgentWord word = word_of(members);
      const std::string entity = kind == "link"            ? members[1] + "<->" + members[2]
                                 : kind == "directed_link" ? members[1] + "->" + members[2]
                                 : kind == "partition"     ? members[1] + "," + members[2]
                                                           : members[1];
      word.verdicts = {{kind, entity, "agent_down", "gloo_peer_lost", "page",
                        "2026-11-30T05:05:40Z", std::nullopt}};
      word.asked_at = 1796100000;
      AgentWord redacted = word;
      redact(diagnosis, &redacted);
      Diagnosis plain = diagnosis;
      join(plain, word);
      join(diagnosis, redacted);
      INFO(diagnosis.agent->text);
      CHECK(diagnosis.agent->relation == plain.agent->relation);
      CHECK(plain.agent->text.find(entity) != std::string::npos);
      if (entity.size() > 2)  // "b" stands in other words, too
        CHECK(diagnosis.agent->text.find(" " + entity + " ") == std::string::npos);
      CHECK(diagnosis.verdict.why.back().find("host-2") != std::string::npos);
      const auto agent = nlohmann::json::parse(to_json(diagnosis))["agent"];
      CHECK(agent["node"] == "host-1");
      const std::string told = agent["verdicts"][0]["entity"];
      CHECK(told.rfind("host-2", 0) == 0);
      CHECK(told.find(kind == "link"        ? "<->host-3"
                      : kind == "partition" ? ",host-3"
                                            : "host-") != std::string::npos);
    }
  }
}
