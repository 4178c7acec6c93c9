// SPDX-License-Identifier: Apache-2.0
//
// Sections, then subjects ("#0-0 (hash) MISMATCH", "DEAD"), then topics ("... different AllReduce
// operation counts"), then the ranks and processes that a topic is about.
#include "daemon/ras/text_report.h"

#include <algorithm>
#include <utility>

namespace collwatch::ras {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::int64_t kLargestInt = 2147483647;
constexpr std::size_t kMostNamed = 256;

bool starts(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}
bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return words;
}

/// "8", of "3-4" the larger.
int upper(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto value = number_of(dash == std::string_view::npos ? text : text.substr(dash + 1), -1);
  return value > kLargestInt ? -1 : static_cast<int>(value);
}

/// The word behind `mark`, without a full stop or comma.
std::string_view word_after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + mark.size();
  const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  std::string_view word = line.substr(begin, end - begin);
  while (!word.empty() && std::string_view(",.)").find(word.back()) != std::string_view::npos) {
    word.remove_suffix(1);
  }
  return word;
}

int int_after(std::string_view line, std::string_view mark, int otherwise) {
  const auto value = number_of(word_after(line, mark), -1);
  return value < 0 || value > kLargestInt ? otherwise : static_cast<int>(value);
}

std::uint64_t count_after(std::string_view line, std::string_view mark) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, number_of(word_after(line, mark), 0)));
}

State state_of(std::string_view word) {
  if (word == "INIT") return State::init;
  if (word == "RUNNING") return State::running;
  if (word == "FINALIZE") return State::finalize;
  if (word == "ABORT") return State::abort;
  return State::unknown;
}

std::string_view device_text(std::string_view line) {
  const std::string_view one = word_after(line, "GPU ");
  return one.empty() ? word_after(line, "GPUs ") : one;
}

/// The first of "1", "0,1", "0-3".
int first_device(std::string_view line) {
  const std::string_view device = device_text(line);
  const auto value =
      number_of(device.substr(0, std::min(device.find_first_of(",-("), device.size())), -1);
  return value < 0 || value > kLargestInt ? -1 : static_cast<int>(value);
}

}  // namespace

void TextReport::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const std::size_t room = kLongestLine - line_.size();
    line_ += piece.substr(0, room);
    is_cut_ = is_cut_ || piece.size() > room;
    ends_in_line_ = end == std::string_view::npos;
    if (ends_in_line_) return;
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    if (!is_cut_) on_line(line_);  // no line of a report is so long
    line_.clear();
    is_cut_ = false;
    bytes.remove_prefix(end + 1);
  }
}

void TextReport::on_line(std::string_view line) {
  if (on_heading(line)) return;
  if (part_ == Part::banner) {
    if (starts(line, "NCCL version ") && report_.version.empty()) {
      report_.version = clean_name(word_after(line, "NCCL version "), kLongestName);
    }
  } else if (part_ == Part::communicators) {
    on_group(line);
  } else if (part_ == Part::errors || part_ == Part::warnings) {
    if (on_subject(line)) return;
    if (in_subject_ && !is_dropped_) on_body(line);
  }
}

bool TextReport::on_heading(std::string_view line) {
  Part part = part_;
  if (line == "Job summary") part = Part::summary;
  if (starts(line, "Communicators...")) part = Part::communicators;
  if (line == "Errors") part = Part::errors;
  if (line == "Warnings") part = Part::warnings;
  if (part == part_) return false;
  end_subject();
  part_ = part;
  return true;
}

/// "    0         1         2         4         8         8   RUNNING  MISMATCH".
void TextReport::on_group(std::string_view line) {
  const auto words = words_of(line);
  if (!words.empty() && words[0] == "#") has_table_ = true;
  if (words.size() != 8) return;
  const int number = upper(words[0]);
  const int communicators = upper(words[1]);
  const int nodes = upper(words[2]);
  const int size = upper(words[4]);
  const int present = upper(words[5]);
  if (number < 0 || communicators < 0 || nodes < 0 || size < 0 || present < 0) return;
  if (nodes == 0 || size == 0 || communicators == 0) {
    ++report_.dropped;
    return;
  }
  if (known_groups_.size() >= kMostGroups) return;
  Group group{communicators, size, present, state_of(words[6]), clean_name(words[7], kLongestName)};
  known_groups_[number] = group;
  report_.groups.push_back(std::move(group));
}

/// A line at the margin begins something new.
bool TextReport::on_subject(std::string_view line) {
  if (line.empty() || line[0] == ' ') return false;
  end_subject();
  in_subject_ = true;
  is_dropped_ = false;
  topic_ = starts(line, "DEAD") ? Topic::dead : Topic::none;
  has_communicator_ = line[0] == '#';
  if (!has_communicator_) return true;
  const std::size_t dash = line.find('-');
  const std::size_t open = line.find('(');
  const std::size_t close = line.find(')');
  is_dropped_ = true;
  is_new_communicator_ = false;
  if (dash == std::string_view::npos || open == std::string_view::npos ||
      close == std::string_view::npos || dash > open || close < open) {
    return true;
  }
  const auto group = known_groups_.find(upper(line.substr(1, dash - 1)));
  const std::string hash = clean_name(line.substr(open + 1, close - open - 1), kLongestName);
  if (group == known_groups_.end() || hash.find_first_not_of('0') == std::string::npos) return true;
  const auto known = by_hash_.find(hash);
  if (known == by_hash_.end()) {
    if (report_.communicators.size() >= kMostCommunicators) return true;
    Communicator communicator;
    communicator.hash = hash;
    communicator.size = group->second.size;
    communicator.present = group->second.size;
    communicator.state = group->second.state;
    by_hash_[hash] = report_.communicators.size();
    report_.communicators.push_back(std::move(communicator));
    is_new_communicator_ = true;
  }
  communicator_ = by_hash_[hash];
  is_dropped_ = false;
  if (holds(line, "MISMATCH")) report_.communicators[communicator_].mismatch = true;
  return true;
}

/// Also the communicator, if it was made for this subject.
void TextReport::drop_subject() {
  is_dropped_ = true;
  ++report_.dropped;
  if (!is_new_communicator_) return;
  by_hash_.erase(report_.communicators.back().hash);
  report_.communicators.pop_back();
  // The next one is given the same number, and has none of these ranks.
  places_.erase(places_.lower_bound({communicator_, 0}), places_.end());
  is_new_communicator_ = false;
  has_communicator_ = false;
}

void TextReport::on_body(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return;
  line.remove_prefix(begin);
  if (on_topic(line)) return;
  if (starts(line, "Process ")) return on_process(line);
  if (!has_communicator_) return;
  if (starts(line, "Rank ")) return on_rank(line);
  if (starts(line, "The missing rank")) return on_missing_numbers(line);
  if (holds(line, " ranks ")) on_several(line);
}

bool TextReport::on_topic(std::string_view line) {
  if (starts(line, "Missing communicator data from ")) {
    end_difference();
    topic_ = Topic::missing;
    const int count = int_after(line, "data from ", 0);
    if (!has_communicator_) return true;
    Communicator& communicator = report_.communicators[communicator_];
    if (count < 1 || count > communicator.size) {
      drop_subject();
      return true;
    }
    communicator.missing = count;
    communicator.present = communicator.size - count;
  } else if (starts(line, "Communicator ranks have different ")) {
    end_difference();
    topic_ = holds(line, "operation counts") ? Topic::counts : Topic::status;
    if (topic_ == Topic::status) return true;
    const std::string_view word = word_after(line, "different ");
    difference_.operation = word == "operation" ? "" : clean_name(word, kLongestName);
    has_difference_ = true;
  } else if (starts(line, "Asynchronous errors on ") || starts(line, "Initialization error")) {
    end_difference();
    topic_ = Topic::errors;
    at_init_ = starts(line, "Init");
  } else if (holds(line, "considered dead")) {
    topic_ = Topic::dead;
  } else if (starts(line, "Encountered ") && holds(line, "timeout")) {
    report_.timeouts = std::max(1, int_after(line, "Encountered ", 1));
  } else {
    return false;
  }
  return true;
}

/// "7 ranks have launched up to operation 1200", "7 ranks reported System error".
void TextReport::on_several(std::string_view line) {
  const auto words = words_of(line);
  const int ranks = words.empty() ? 0 : upper(words[0]);
  Communicator& communicator = report_.communicators[communicator_];
  if (ranks < 1 || ranks > communicator.size) return;
  if (topic_ == Topic::counts && has_difference_) {
    const std::uint64_t count = count_after(line, "up to operation ");
    count_said_ = count;
    const bool is_usual = ranks > difference_.usual_ranks ||
                          (ranks == difference_.usual_ranks && count > difference_.usual);
    difference_.unnamed += is_usual ? difference_.usual_ranks : ranks;
    if (!is_usual) return;
    difference_.usual = count;
    difference_.usual_ranks = ranks;
  } else if (topic_ == Topic::status) {
    state_said_ = state_of(word_after(line, "status "));
  } else if (topic_ == Topic::errors && holds(line, " reported ")) {
    const std::string word = clean_name(line.substr(line.find(" reported ") + 10), kLongestName);
    if (communicator.errors.size() >= kMostNamed) return;
    communicator.errors.push_back({at_init_, error_code(word), word, {}, ranks});
  }
}

/// Of the one that a line begins with: "Rank 5 ... -- GPU 1 managed by process 11315 on
/// node 10.0.0.4".
Rank* TextReport::rank_named(std::string_view line) {
  Communicator& communicator = report_.communicators[communicator_];
  const int number = int_after(line, "Rank ", -1);
  if (number < 0 || number >= communicator.size) return nullptr;
  const std::pair place{communicator_, number};
  const auto known = places_.find(place);
  if (known != places_.end()) return &communicator.ranks[known->second];
  if (places_.size() >= kMostRanks) return nullptr;
  places_[place] = communicator.ranks.size();
  Rank rank;
  rank.rank = number;
  rank.pid = int_after(line, "by process ", 0);
  rank.cuda_device = first_device(line);
  rank.nvml_device = int_after(line, "(NVML ", rank.cuda_device);
  rank.host = hosts_.index_of(clean_name(word_after(line, "on node "), kLongestName));
  communicator.ranks.push_back(rank);
  return &communicator.ranks.back();
}

void TextReport::on_rank(std::string_view line) {
  Rank* const rank = rank_named(line);
  if (rank == nullptr) return;
  Communicator& communicator = report_.communicators[communicator_];
  if (topic_ == Topic::missing) {
    rank->presence = Presence::missing;
  } else if (topic_ == Topic::counts && has_difference_) {
    if (difference_.odd.size() >= kMostNamed) return;
    // "2 ranks have launched up to operation 7", and then who they are.
    const bool is_of_several = !holds(line, " launched ");
    const std::uint64_t count = is_of_several ? count_said_ : count_after(line, "up to operation ");
    if (is_of_several && (count == difference_.usual || difference_.unnamed-- < 1)) return;
    difference_.odd.push_back({rank->rank, count});
  } else if (topic_ == Topic::status) {
    rank->state = holds(line, " has status ") ? state_of(word_after(line, "status ")) : state_said_;
  } else if (topic_ == Topic::errors && holds(line, " reported ")) {
    const std::size_t begin = line.find(" reported ") + 10;
    const std::string_view word = line.substr(begin, line.find(" -- ", begin) - begin);
    const std::string clean = clean_name(word, kLongestName);
    auto group = std::find_if(
        communicator.errors.begin(), communicator.errors.end(), [&](const ErrorGroup& one) {
          return one.at_init == at_init_ && one.word == clean && !one.ranks.empty();
        });
    if (group == communicator.errors.end()) {
      if (communicator.errors.size() >= kMostNamed) return;
      communicator.errors.push_back({at_init_, error_code(clean), clean, {}, 0});
      group = communicator.errors.end() - 1;
    }
    if (group->ranks.size() >= kMostNamed) return;
    group->ranks.push_back(rank->rank);
    ++group->count;
  }
}

/// "The missing rank: 21", before 2.26.
void TextReport::on_missing_numbers(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (topic_ != Topic::missing || colon == std::string_view::npos) return;
  for (std::string_view word : words_of(line.substr(colon + 1))) {
    while (!word.empty() && word.back() == ',') word.remove_suffix(1);
    const std::string as_named = "Rank " + std::string(word) + " ";
    if (Rank* const rank = rank_named(as_named)) rank->presence = Presence::missing;
  }
}

/// "Process 31370 on node 127.0.0.2 managing GPU 1".
void TextReport::on_process(std::string_view line) {
  constexpr std::size_t kMostLost = 4096;
  if (topic_ != Topic::missing && topic_ != Topic::dead) return;
  if (report_.lost.size() >= kMostLost) return;
  LostProcess lost;
  lost.pid = int_after(line, "Process ", 0);
  lost.host = clean_name(word_after(line, "on node "), kLongestName);
  lost.gpu = clean_name(device_text(line), kLongestName);
  lost.dead = topic_ == Topic::dead;
  if (lost.pid > 0) report_.lost.push_back(std::move(lost));
}

void TextReport::end_difference() {
  if (std::exchange(has_difference_, false) && !difference_.odd.empty()) {
    // Where nobody is the rule, who is furthest is.
    for (const Difference::Standing& one : difference_.odd) {
      if (difference_.usual_ranks > 0 || one.count < difference_.usual) continue;
      difference_.usual = one.count;
    }
    std::erase_if(difference_.odd,
                  [&](const Difference::Standing& one) { return one.count == difference_.usual; });
  }
  if (!difference_.odd.empty() || difference_.unnamed > 0) {
    auto& differences = report_.communicators[communicator_].differences;
    if (differences.size() < kMostNamed) differences.push_back(std::move(difference_));
  }
  difference_ = {};
}

void TextReport::end_subject() {
  end_difference();
  in_subject_ = false;
  has_communicator_ = false;
  topic_ = Topic::none;
}

void TextReport::finish() {
  end_subject();
  report_.complete = part_ == Part::warnings && has_table_ && !ends_in_line_;
  if (report_.complete) return;
  report_.trouble = part_ == Part::banner ? "it is no report of NCCL" : "it ends before its end";
}

}  // namespace collwatch::ras
