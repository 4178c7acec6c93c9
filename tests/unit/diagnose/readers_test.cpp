// SPDX-License-Identifier: Apache-2.0
//
// The same failure however its bytes arrive: archives, DOS line ends, progress bars, colours,
// broken UTF-8, lines of megabytes, zeros, a log that was cut; and in the folders of each launcher.
#include <algorithm>
#include <functional>

#include "daemon/diagnose/print.h"
#include "tests/support/catch.h"
#include "tests/support/compress.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;

namespace {

using Essence = std::pair<std::string, std::optional<int>>;

const Essence kRank1Failed = {"worker_exit", 1};

std::string ordinary(int rank) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "[rank " + std::to_string(rank) + "/3 pid 17] step " + std::to_string(i) + " loss 2\n";
  return text;
}

std::string failed(int rank) {
  const std::string tag = "[rank" + std::to_string(rank) + "]: ";
  return ordinary(rank) + tag + "Traceback (most recent call last):\n" + tag +
         "  File \"train.py\", line 12, in main\n" + tag + "    raise ValueError('no')\n" + tag +
         "ValueError: no\n";
}

std::string lost(int rank) {
  const std::string tag = "[rank" + std::to_string(rank) + "]: ";
  return ordinary(rank) + tag +
         "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer "
         "[10.0.0.2]:42097\n";
}

Essence of(const std::string& text, const std::string& name = "job.log") {
  const auto diagnosis = engine().run_text(text, name);
  REQUIRE(diagnosis.has_value());
  return essence(*diagnosis);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace

TEST_CASE("the writing of a log does not matter") {
  const std::string plain = failed(1);
  const std::map<std::string, std::string> ways = {
      {"as it is", plain},
      {"no newline at the end", plain.substr(0, plain.size() - 1)},
      {"DOS", replaced(plain, "\n", "\r\n")},
      {"DOS twice", replaced(plain, "\n", "\r\r\n")},
      {"colours", replaced(replaced(plain, "[rank1]: ", "\x1b[1;31m[rank1]: "), "\n", "\x1b[0m\n")},
      {"colours inside the prefix", replaced(plain, "[rank1]: ", "\x1b[31m[rank1]\x1b[0m: ")},
      {"not UTF-8", replaced(plain, "loss", "l\xff\xfeoss \xc3\x28")},
      {"zeros", replaced(plain, "step 17 loss", std::string(60, '\0'))},
      {"an UTF-8 mark first", "\xef\xbb\xbf" + plain},
      {"a bar before it", "\r 10%|#   | 1/9\r 20%|##  | 2/9" + plain},
      {"a bar on the same line",
       replaced(plain, "[rank1]: ValueError", " 99%|####| 8/9\r[rank1]: ValueError")},
      {"a long line before it", std::string(3 << 20, 'x') + "\n" + plain},
      {"a long line after it", plain + std::string(3 << 20, 'x') + "\n"}};
  for (const auto& [name, text] : ways) {
    INFO(name);
    CHECK(of(text) == kRank1Failed);
  }
}

TEST_CASE("an error in the middle of a line of megabytes is found") {
  const std::string around(2 << 20, 'x');
  const auto diagnosis = engine().run_text(
      "[rank1]: " + around + " CUDA out of memory. Tried to allocate 2.00 GiB " + around + "\n",
      "rank1.log");
  REQUIRE(diagnosis.has_value());
  CHECK(essence(*diagnosis) == Essence("cuda_oom", 1));
  for (const Finding& finding : diagnosis->findings) CHECK(finding.text.size() < 1000);
}

TEST_CASE("lines that a progress bar overwrote are numbered as an editor does") {
  const auto diagnosis = engine().run_text(
      "one\n 1%|\r 2%|\r 3%|\r\ntwo\r\n"
      "[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: no\n",
      "rank1.log");
  REQUIRE(diagnosis.has_value());
  REQUIRE_FALSE(diagnosis->findings.empty());
  CHECK(diagnosis->findings.front().line == 5);
}

TEST_CASE("archives, whole and cut off, give the verdict of the plain log") {
  const TemporaryFolder folder;
  const std::string plain = failed(1);
  for (const std::string& bytes : {test::gzipped(plain), test::zstd_compressed(plain),
                                   test::gzipped(ordinary(1)) + test::gzipped(failed(1))}) {
    CHECK(essence(diagnose_paths({folder.write("rank1.log.any", bytes)})) == kRank1Failed);
  }
  // The end of the archive is missing, the failure is not.
  const std::string whole = test::gzipped(plain + std::string(3000, 'x'));
  const std::string cut = whole.substr(0, whole.size() - 9);
  CHECK(essence(diagnose_paths({folder.write("rank1.log.gz", cut)})) == kRank1Failed);
}

TEST_CASE("far down in a large file, line numbers, tracebacks and last words are right") {
  std::string text;
  long lines = 0;
  const auto ordinary_lines = [&](std::size_t bytes) {
    for (const std::size_t end = text.size() + bytes; text.size() < end; ++lines) {
      text += "[rank 1/3 pid 17] step " + std::to_string(lines) + " loss 2.0";
      text += lines % 97 == 0 ? "\r 5%|#\r 6%|#\r\n" : "\n";  // a bar now and then
    }
  };
  ordinary_lines(9 << 20);
  text += "[rank1]: Traceback (most recent call last):\n";
  for (int i = 0; i < 40; ++i)
    text += "[rank1]:   File \"train.py\", line " + std::to_string(i) + ", in f\n";
  text += "[rank1]: ValueError: no\n";
  const long error = lines + 42;
  lines += 42;
  text += "the launcher says goodbye\n";
  ++lines;
  const auto diagnosis = engine().run_text(text, "job.log");
  REQUIRE(diagnosis);
  CHECK(essence(*diagnosis) == kRank1Failed);
  REQUIRE_FALSE(diagnosis->findings.empty());
  CHECK(diagnosis->findings[0].line == error);
  CHECK(diagnosis->findings[0].fields.at("code") == "train.py:39");
  // A rank that only went silent: its last line is the file's.
  std::string silent;
  std::swap(text, silent);
  lines = 0;
  ordinary_lines(9 << 20);
  std::vector<Input> inputs(2);
  inputs[0].source.name = "rank0.log";
  inputs[0].source.hint.rank = 0;
  inputs[0].bytes = logs::bytes_of(lost(0));
  inputs[1].source.name = "rank1.log";
  inputs[1].source.hint.rank = 1;
  inputs[1].bytes = logs::bytes_of(text);
  const auto of_two = engine().run_inputs(std::move(inputs));
  REQUIRE(of_two);
  REQUIRE(of_two->ranks.size() >= 2);
  CHECK(of_two->ranks[1].last_line == lines);
}

TEST_CASE("binary files and empty ones are passed over") {
  const TemporaryFolder folder;
  folder.write("rank1.log", failed(1));
  folder.write("core.17", std::string(100000, '\0') + "CUDA out of memory");
  folder.write("rank0.log", "");
  CHECK(essence(diagnose_paths({folder.path().string()})) == kRank1Failed);
  const TemporaryFolder empty;
  CHECK(essence(diagnose_paths({empty.write("nothing.log", "")})).first == "none");
}

TEST_CASE("each launcher's folders tell the ranks") {
  using Layout = std::function<std::string(int)>;
  const auto digit = [](int rank) { return std::to_string(rank); };
  const std::map<std::string, Layout> layouts = {
      {"torchrun", [&](int r) { return "run_1/none_ab/attempt_0/" + digit(r) + "/stderr.log"; }},
      {"Slurm %t", [&](int r) { return "train-4711." + digit(r) + ".out"; }},
      {"rank folders", [&](int r) { return "rank" + digit(r) + "/stderr.txt"; }},
      {"DeepSpeed", [&](int r) { return "logs/rank_" + digit(r) + ".log"; }}};
  for (const auto& [name, layout] : layouts) {
    INFO(name);
    const TemporaryFolder folder;
    for (int rank = 0; rank < 3; ++rank) {
      // Without any sign of a rank in the text: only the path tells.
      std::string text = rank == 1 ? failed(rank) : lost(rank);
      text = replaced(text, "[rank" + digit(rank) + "]: ", "");
      text = replaced(text, "[rank " + digit(rank) + "/3 pid 17] ", "");
      folder.write(layout(rank), text);
    }
    CHECK(essence(diagnose_paths({folder.path().string()})) == kRank1Failed);
  }
}

TEST_CASE("Ray's and Kubernetes' folders do not turn pids and restarts into ranks") {
  const std::map<std::string, std::function<std::string(int)>> layouts = {
      {"Ray",
       [](int r) {
         return "logs/worker-9f" + std::to_string(r) + "c-01000000-" + std::to_string(4000 + r) +
                ".err";
       }},
      {"Kubernetes", [](int r) {
         return "ml_trainer-" + std::to_string(r) + "_11111111-2222-3333-4444-55555555555" +
                std::to_string(r) + "/pytorch/0.log";
       }}};
  for (const auto& [name, layout] : layouts) {
    INFO(name);
    const TemporaryFolder folder;
    for (int rank = 0; rank < 3; ++rank) {
      const bool culprit = rank == 1;  // the text says which rank it is
      folder.write(layout(rank), culprit ? failed(rank) : lost(rank));
    }
    CHECK(essence(diagnose_paths({folder.path().string()})) == kRank1Failed);
  }
}

TEST_CASE("restarts: the first attempt that failed is judged, not the last") {
  const TemporaryFolder folder;
  folder.write("attempt_0/0/stderr.log", lost(0));
  folder.write("attempt_0/1/stderr.log", failed(1));
  folder.write("attempt_1/0/stderr.log", failed(0));
  folder.write("attempt_1/1/stderr.log", lost(1));
  CHECK(essence(diagnose_paths({folder.path().string()})) == kRank1Failed);
}

TEST_CASE("an archive that breaks off is never taken for a whole log") {
  const auto diagnosed = [](const std::string& bytes) {
    std::vector<Input> inputs(1);
    inputs[0].source.name = "rank1.log.gz";
    auto decoded = logs::decoded(logs::bytes_of(bytes));
    REQUIRE(decoded.has_value());
    inputs[0].bytes = std::move(*decoded);
    auto diagnosis = engine().run_inputs(std::move(inputs));
    REQUIRE(diagnosis.has_value());
    return *diagnosis;
  };
  const std::string whole = test::gzipped(ordinary(1));
  CHECK(diagnosed(whole).verdict.missing_evidence.empty());
  const Diagnosis cut = diagnosed(whole.substr(0, whole.size() / 2));
  CHECK(cut.verdict.fingerprint == model::Fingerprint::none);
  CHECK(cut.verdict.confidence == model::Confidence::low);
  CHECK(cut.unread == cut.verdict.missing_evidence);
  REQUIRE(cut.verdict.missing_evidence.size() == 1);
  CHECK(cut.verdict.missing_evidence[0].find("rank1.log.gz: the archive ends early; nothing after "
                                             "line ") != std::string::npos);
  const std::string& said = cut.verdict.missing_evidence[0];
  CHECK(to_text(cut, engine().catalogue(), false).find(said) != std::string::npos);
  CHECK(to_markdown(cut, engine().catalogue()).find(said) != std::string::npos);
  const std::string found = test::gzipped(failed(1));
  const Diagnosis early = diagnosed(found + whole.substr(0, 12));
  CHECK(early.verdict.fingerprint != model::Fingerprint::none);
  REQUIRE_FALSE(early.verdict.missing_evidence.empty());
  CHECK(early.verdict.missing_evidence.back().find("ends early") != std::string::npos);
}
