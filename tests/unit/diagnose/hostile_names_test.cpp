// SPDX-License-Identifier: Apache-2.0
//
// Names of files, hosts in logs and an agent's words may be anything: no page for people passes on
// what steers a terminal, breaks out of its place in markdown, or changes a command.
#include <algorithm>

#include "daemon/diagnose/conclude.h"
#include "daemon/diagnose/print.h"
#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;

namespace {

constexpr const char* kEvil =
    "rank0\x1b]0;x\x07\n## gone\n```\n<img src=x>`$(rm)`[a](b)\xc2\x9b\xe2\x80\xae.log";

Diagnosis hostile() {
  auto diagnosis = engine().run_text(
      "[rank0]: Traceback (most recent call last):\n[rank0]: ValueError: <b>*x*</b> `y` [a](b)\n",
      kEvil);
  REQUIRE(diagnosis.has_value());
  AgentWord word;
  word.answered = true;
  word.url = "http://a:1";
  word.node = "n\x1b[2J\n# a";
  word.clean_rounds = 300;
  word.asked_at = 4000000000;
  word.members = {word.node};
  join(*diagnosis, word);
  diagnosis->verdict.initiating->host = "h\x1b[2J\n- b";
  diagnosis->findings.at(0).host = "h\x1b[2J\n- b";
  return *diagnosis;
}

std::size_t lines_of(const std::string& page) {
  return static_cast<std::size_t>(std::count(page.begin(), page.end(), '\n'));
}

}  // namespace

TEST_CASE("text and markdown hold nothing that steers a terminal, and keep their lines") {
  const Diagnosis evil = hostile();
  Diagnosis tame = evil;
  tame.agent->text = "tame";
  tame.verdict.initiating->host = "h";
  tame.findings.at(0).host = "h";
  for (std::string& why : tame.verdict.why) why = "tame";
  tame.findings.at(0).file = "rank0.log";
  tame.verdict.next_action = "tame";
  for (const bool is_text : {true, false}) {
    const auto page_of = [&](const Diagnosis& diagnosis) {
      return is_text ? to_text(diagnosis, engine().catalogue(), false)
                     : to_markdown(diagnosis, engine().catalogue());
    };
    const std::string page = page_of(evil);
    INFO(page);
    for (const char c : page) CHECK((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
    CHECK(page.find("\xc2\x9b") == std::string::npos);
    CHECK(page.find("\xe2\x80\xae") == std::string::npos);
    CHECK(page.find("rank0\\x1b]0;x\\x07\\n## gone") != std::string::npos);
    CHECK(lines_of(page) == lines_of(page_of(tame)));
  }
}

TEST_CASE("markdown: what logs and names say is text, not HTML, code or links") {
  const std::string page = to_markdown(hostile(), engine().catalogue());
  INFO(page);
  const std::string sentences = page.substr(0, page.find("```"));
  CHECK(sentences.find(" <b>") == std::string::npos);
  CHECK(sentences.find("\\<b>\\*x\\*\\</b> \\`y\\` [a]\\(b)") != std::string::npos);
  CHECK(sentences.find("\\<img") != std::string::npos);
}

TEST_CASE("commands: a value is one word, or it is not filled in") {
  const std::map<std::string, std::string> values = {{"host", "a; rm -rf x"},
                                                     {"peer", "10.0.0.2:4711"},
                                                     {"file", "my 'logs'/rank 0.log"},
                                                     {"interface", "-x"},
                                                     {"rank", "{host}"}};
  CHECK(fill("ssh {host} 'ip route get {peer}' {interface} {rank}", values, Filling::command) ==
        "ssh HOST 'ip route get 10.0.0.2:4711' INTERFACE RANK");
  CHECK(fill("grep x {file}", values, Filling::command) == "grep x 'my '\\''logs'\\''/rank 0.log'");
  CHECK(fill("on {host} \x1b{pid}", {{"host", "a\nb"}}) == "on a\\nb \x1bPID");
  CHECK(fill("{rank}", values) == "{host}");
}

TEST_CASE("what cannot be read is told and the rest is read") {
  const TemporaryFolder folder;
  folder.write("l/rank1.log",
               "[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: x\n");
  folder.write("l/rank0.log", "[rank0]: step 1\n");
  auto sources = logs::find_sources({(folder.path() / "l").string()});
  REQUIRE(sources.has_value());
  logs::Source gone;
  gone.name = "rank2.log";  // it was there when the folder was listed
  logs::Source closed;
  closed.name = "closed";
  closed.problem = "Permission denied";
  sources->push_back(gone);
  sources->push_back(closed);
  const auto diagnosis = engine().run(*sources);
  REQUIRE(diagnosis.has_value());
  CHECK(essence(*diagnosis) == std::make_pair(std::string("worker_exit"), std::optional<int>(1)));
  CHECK(diagnosis->unread ==
        std::vector<std::string>{"closed, which cannot be read: Permission denied",
                                 "rank2.log, which cannot be read: No such file or directory"});
  CHECK(diagnosis->verdict.missing_evidence.size() >= 2);
  const auto nothing = engine().run({gone, closed});
  REQUIRE_FALSE(nothing.has_value());
  CHECK(nothing.error().text == "closed: Permission denied");
}
