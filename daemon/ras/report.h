// SPDX-License-Identifier: Apache-2.0
//
// What NCCL's status service (RAS) says about a job, as values: communicators, their ranks, who is
// missing or dead, whose counts differ, who reports errors. Made from the text or the JSON report
// by reader.h, judged by judge.h. All of it is the word of the job's own processes: strings hold
// printable characters only, numbers may be anything. A rank here counts within its communicator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace collwatch::ras {

/// How far a rank got with its communicator.
enum class State { unknown, init, running, finalize, abort };

enum class Presence {
  present,
  missing,       ///< no data of it, nothing more is known
  unresponsive,  ///< its process does not answer in time
  dead           ///< given up by RAS
};

inline constexpr std::size_t kMostOperations = 8;

struct Rank {
  int rank = -1;
  std::uint32_t host = 0;  ///< index into Report::hosts
  int pid = 0;             ///< in its own pid namespace
  int cuda_device = -1;    ///< the first of them
  int nvml_device = -1;
  Presence presence = Presence::present;
  State state = State::unknown;
  int init_error = 0;   ///< ncclResult_t; 0: none
  int async_error = 0;  ///< likewise
  /// Launched so far, by Report::operations; JSON only.
  std::array<std::uint64_t, kMostOperations> counts{};
};

/// Ranks of a communicator that stand elsewhere than the most of it, in one kind of collective.
struct Difference {
  struct Standing {
    int rank = -1;
    std::uint64_t count = 0;
  };
  std::string operation;      ///< "AllReduce"; empty where one count is for all (before 2.26)
  std::uint64_t usual = 0;    ///< where the most stand, and of equally many the furthest
  int usual_ranks = 0;        ///< how many these are
  std::vector<Standing> odd;  ///< the others, as far as they are named
  int unnamed = 0;            ///< how many of the others are not
};

/// Ranks that report the same error.
struct ErrorGroup {
  bool at_init = false;
  int code = 0;            ///< ncclResult_t; -1: some other word
  std::string word;        ///< "System error"
  std::vector<int> ranks;  ///< those that are named
  int count = 0;           ///< of them all
};

struct Communicator {
  std::string hash;       ///< "ae94423cfbb2ef4a"
  std::string secondary;  ///< as it stands in JSON; empty in text
  int size = 0;
  int present = 0;  ///< ranks with data
  int missing = 0;
  State state = State::unknown;  ///< the furthest of any rank
  bool mismatch = false;         ///< the report says so, or its numbers do
  std::vector<Rank> ranks;       ///< JSON: all; text: those that are mentioned
  std::vector<Difference> differences;
  std::vector<ErrorGroup> errors;

  const Rank* find(int rank) const;
};

/// A row of the text report's table: communicators that are alike.
struct Group {
  int communicators = 0;
  int size = 0;     ///< ranks of each
  int present = 0;  ///< ranks with data, of all of them
  State state = State::unknown;
  std::string errors;  ///< "OK", "INCOMPLETE,MISMATCH"
};

/// A process of the job that RAS itself misses, where it is told without a rank.
struct LostProcess {
  std::string host;
  int pid = 0;
  std::string gpu;  ///< "1", "0-3"
  bool dead = false;
};

struct Report {
  enum class Format { unknown, text, json };

  Format format = Format::unknown;
  bool complete = false;  ///< it has all its parts; else nothing may be concluded from what lacks
  std::string trouble;    ///< what is wrong with it, for people
  std::string version;    ///< of NCCL: "2.28.9"
  std::vector<std::string> hosts{""};
  std::vector<std::string> operations;  ///< of Rank::counts
  std::vector<Communicator> communicators;
  std::vector<Group> groups;  ///< text only
  std::vector<LostProcess> lost;
  int timeouts = 0;  ///< while the report was collected
  int dropped = 0;   ///< rows that cannot be: size 0, more missing than there are

  const std::string& host_of(const Rank& rank) const;
  /// A process did not answer: asking again can harm a job of NCCL before 2.29.2.
  bool is_incomplete() const;
};

/// "System error" and the like, as the text report has them, and back; 0 and -1 for others.
std::string_view error_word(int code);
int error_code(std::string_view word);

/// Fills differences, errors and state from the ranks. For a communicator whose ranks are all
/// known.
void summarise(Communicator& communicator, const std::vector<std::string>& operations);

/// Host names of a report, each once.
class Hosts {
 public:
  explicit Hosts(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t index_of(const std::string& name);

 private:
  std::vector<std::string>& names_;
  std::map<std::string, std::uint32_t> known_;
};

/// `text` cut to `limit`; what has no place in a name becomes '?'.
std::string clean_name(std::string_view text, std::size_t limit);

/// Of the whole of `text`; `otherwise` where it is no number.
std::int64_t number_of(std::string_view text, std::int64_t otherwise);

}  // namespace collwatch::ras
