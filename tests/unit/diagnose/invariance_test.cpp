// SPDX-License-Identifier: Apache-2.0
//
// The same failure, collected in other ways: files in another order, merged into one, with the
// prefixes of several launchers. The verdict must be the same.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;

namespace {

namespace fs = std::filesystem;

/// The files of a case that are one rank's, and the others.
struct Split {
  std::map<int, std::string> ranks;
  std::vector<std::string> others;
};

std::vector<std::string> files_of(const Case& one) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(one.logs)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Split split(const Case& one) {
  Split parts;
  for (const std::string& file : files_of(one)) {
    const auto hint = logs::hint_from_path(file);
    if (hint.rank) {
      parts.ranks[*hint.rank] = read_file(file);
    } else {
      parts.others.push_back(file);
    }
  }
  return parts;
}

std::string prefixed(const std::string& text, const std::string& prefix) {
  std::istringstream lines(text);
  std::string out;
  std::string line;
  while (std::getline(lines, line)) out += prefix + line + "\n";
  return out;
}

/// The ranks' lines in turns, as a launcher that reads several pipes would write them.
std::string interleaved(const std::map<int, std::string>& ranks,
                        const std::function<std::string(int)>& prefix) {
  std::map<int, std::istringstream> streams;
  for (const auto& [rank, text] : ranks) streams.emplace(rank, text);
  std::string out;
  for (bool more = true; more;) {
    more = false;
    for (auto& [rank, stream] : streams) {
      std::string line;
      for (int count = 0; count < 3 && std::getline(stream, line); ++count) {
        out += prefix(rank) + line + "\n";
        more = true;
      }
    }
  }
  return out;
}

/// The ranks' lines in any order that keeps each rank's own.
std::string shuffled(const std::map<int, std::string>& ranks, std::mt19937& random,
                     const std::function<std::string(int)>& prefix) {
  std::vector<std::pair<int, std::istringstream>> streams;
  for (const auto& [rank, text] : ranks) streams.emplace_back(rank, std::istringstream(text));
  std::string out;
  std::string line;
  while (!streams.empty()) {
    const auto at = static_cast<std::ptrdiff_t>(random() % streams.size());
    auto& [rank, stream] = streams[static_cast<std::size_t>(at)];
    if (std::getline(stream, line)) {
      out += prefix(rank) + line + "\n";
    } else {
      streams.erase(streams.begin() + at);
    }
  }
  return out;
}

/// The rank that a line's own tag names: "[rank3]: ", "[1,3]<stderr>:", "3: ".
std::optional<int> tagged(const std::string& line) {
  logs::Who who;
  logs::peel(line, who);
  return who.rank ? who.rank : who.label;
}

std::vector<std::string> with(std::vector<std::string> others, const std::string& file) {
  others.push_back(file);
  return others;
}

}  // namespace

TEST_CASE("the order of the files does not matter") {
  std::mt19937 random(7);
  for (const Case& one : cases()) {
    INFO(one.name);
    std::vector<std::string> files = files_of(one);
    const auto expected = essence(diagnose_paths(files));
    for (int round = 0; round < 3; ++round) {
      std::shuffle(files.begin(), files.end(), random);
      CHECK(essence(diagnose_paths(files)) == expected);
    }
  }
}

TEST_CASE("one merged log gives the verdict of the ranks' own logs") {
  const TemporaryFolder folder;
  std::mt19937 random(5);
  const std::map<std::string, std::function<std::string(int)>> launchers = {
      {"srun --label in a pod",
       [](int rank) {
         return "[pod/job-0/main] 2026-11-30T05:05:45.8Z " + std::to_string(rank) + ": ";
       }},
      {"rank tags behind torchrun's",
       [](int rank) {
         return "[default" + std::to_string(rank) + "]:[rank" + std::to_string(rank) + "]: ";
       }},
      {"rank tags", [](int rank) { return "[rank" + std::to_string(rank) + "]: "; }},
      {"torchrun --tee", [](int rank) { return "[default" + std::to_string(rank) + "]:"; }},
      {"srun --label", [](int rank) { return std::to_string(rank) + ": "; }},
      {"mpirun --tag-output",
       [](int rank) { return "[1," + std::to_string(rank) + "]<stderr>:"; }}};
  for (const Case& one : cases()) {
    const Split parts = split(one);
    if (parts.ranks.size() < 2) continue;
    const auto expected = essence(diagnose_paths({one.logs.string()}));
    std::string plain;
    for (const auto& [rank, text] : parts.ranks) plain += text;
    INFO(one.name << ", one after another, no prefixes");
    // Of these only the files' names tell the rank: one calls itself rank 3 of 3, the others' lines
    // name none.
    const bool needs_names = one.name == "torch-1.13.1-rank_out_of_range" ||
                             one.name == "nccl-remote-oom" || one.name == "gloo-recv-silent1";
    if (!needs_names)
      CHECK(essence(diagnose_paths(with(parts.others, folder.write("job.txt", plain)))) ==
            expected);
    for (const auto& [launcher, prefix] : launchers) {
      INFO(one.name << ", " << launcher);
      std::string merged;
      for (const auto& [rank, text] : parts.ranks) merged += prefixed(text, prefix(rank));
      CHECK(essence(diagnose_paths(with(parts.others, folder.write("job.txt", merged)))) ==
            expected);
      const std::string turns = interleaved(parts.ranks, prefix);
      CHECK(essence(diagnose_paths(with(parts.others, folder.write("job.txt", turns)))) ==
            expected);
      for (int round = 0; round < 2; ++round) {
        const std::string any = shuffled(parts.ranks, random, prefix);
        CHECK(essence(diagnose_paths(with(parts.others, folder.write("job.txt", any)))) ==
              expected);
      }
    }
  }
}

TEST_CASE("a merged log that was split by its tags into the ranks' own gives its verdict") {
  int split_cases = 0;
  for (const Case& one : cases()) {
    const std::vector<std::string> files = files_of(one);
    std::map<int, std::string> ranks;
    std::string rest;
    for (const std::string& file : files) {
      std::istringstream lines(read_file(file));
      std::string line;
      while (std::getline(lines, line)) {
        const auto rank = tagged(line);
        (rank ? ranks[*rank] : rest) += line + "\n";
      }
    }
    if (files.size() != 1 || ranks.size() < 2) continue;
    ++split_cases;
    INFO(one.name);
    const TemporaryFolder folder;
    for (const auto& [rank, text] : ranks)
      folder.write("rank" + std::to_string(rank) + ".log", text);
    folder.write("launcher.log", rest);
    CHECK(essence(diagnose_paths({folder.path().string()})) == essence(diagnose_paths(files)));
  }
  CHECK(split_cases >= 5);
}

TEST_CASE("names of files that say nothing, carriage returns and colours do not matter") {
  const TemporaryFolder folder;
  for (const Case& one : cases()) {
    const Split parts = split(one);
    if (parts.ranks.size() < 2) continue;
    INFO(one.name);
    const auto expected = essence(diagnose_paths({one.logs.string()}));
    std::vector<std::string> files = parts.others;
    for (const auto& [rank, text] : parts.ranks) {
      std::string windows;
      std::istringstream lines(text);
      std::string line;
      while (std::getline(lines, line)) windows += "\x1b[32m" + line + "\x1b[0m\r\n";
      files.push_back(folder.write(one.name + "/job." + std::to_string(rank) + ".out", windows));
    }
    CHECK(essence(diagnose_paths(files)) == expected);
  }
}

TEST_CASE("one rank's log alone still gives a verdict and says what to fetch") {
  for (const Case& one : cases()) {
    if (one.name != "torch-2.6.0-kill9_rank1_env" && one.name != "torch-1.13.1-busy_rank1")
      continue;
    INFO(one.name);
    const Diagnosis diagnosis = diagnose_paths({(one.logs / "rank0.log").string()});
    CHECK(std::count(one.accept.begin(), one.accept.end(), essence(diagnosis).first) == 1);
    CHECK_FALSE(diagnosis.verdict.missing_evidence.empty());
    CHECK(diagnosis.verdict.next_action.find("log") != std::string::npos);
  }
}
