// SPDX-License-Identifier: Apache-2.0
//
// Lists of words, and the places in which a word is a host.
#include "daemon/diagnose/redact_names.h"

#include <algorithm>
#include <array>
#include <vector>

namespace collwatch::diagnose {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Of sentences, and of names that files have everywhere; blanks between.
constexpr std::string_view kOrdinary =
    " "
    "a about after agent all allreduce am an and any app are as at attempt backend bak "
    "barrier be because before between both but by came can cluster collective combined "
    "compute connect container control core cpu cuda data debug default device did dist "
    "distributed dmesg do does elastic end ended err error errors exit fabric fail "
    "failed false file files first for from full gateway global gloo go gpu group gz had "
    "has have he head here host i ib if in info interface is it its job journal journald "
    "json jsonl kern kernel last launcher lead leader line link list local log login "
    "logs lost main master me member merged messages model mpirun my nccl network new no "
    "node none not null of old on one or other others out output part peer pid pod port "
    "proc process pytorch rank ranks ray reset ring root run server service slurm so "
    "srun start started std stderr stdout step stop store stream submit syslog task tcp "
    "test text the they this time timeout tmp to torch torchrun train trainer training "
    "true txt unknown up us user warn was we with worker workers world zst ";
/// With a number behind them, these name a machine.
constexpr std::string_view kMachines =
    " "
    "app compute core cpu data gpu gateway head host login master node pod server leader "
    "worker trainer submit ";

bool holds(std::string_view words, std::string_view word) {
  return words.find(" " + std::string(word) + " ") != std::string_view::npos;
}

std::string_view without_number(std::string_view word) {
  while (!word.empty() && is_digit(word.back())) word.remove_suffix(1);
  return word;
}

bool is_part_of_name(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

/// The words between the hyphens of a piece of a file's name.
std::vector<std::string_view> words_of(std::string_view piece) {
  std::vector<std::string_view> words;
  for (std::size_t start = 0; start <= piece.size();) {
    const std::size_t end = std::min(piece.find('-', start), piece.size());
    words.push_back(piece.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

/// rank3, stderr, 0, but not a17 and not node12.
bool may_stand(std::string_view word) {
  const std::string lower = lower_case(word);
  const std::string_view stem = without_number(lower);
  if (stem.empty()) return true;
  if (!is_ordinary(stem)) return false;
  return stem.size() == lower.size() || (stem.size() > 2 && !holds(kMachines, stem));
}

void pieces(std::string_view piece, const std::function<void(std::string_view, bool)>& part) {
  const std::vector<std::string_view> words = words_of(piece);
  std::size_t first = 0;
  std::size_t last = words.size();
  const auto names_machine = [&](std::size_t i) {  // "worker" in "worker-3", "gpu" in "gpu-a17"
    if (!holds(kMachines, lower_case(words[i])) || i + 1 >= words.size()) return false;
    return without_number(words[i + 1]).empty() || !may_stand(words[i + 1]);
  };
  while (first < last && may_stand(words[first]) && !names_machine(first)) ++first;
  while (last > first && may_stand(words[last - 1]) && !without_number(words[last - 1]).empty()) {
    --last;
  }
  if (first == last) return part(piece, false);
  const auto at = static_cast<std::size_t>(words[first].data() - piece.data());
  const auto end =
      static_cast<std::size_t>(words[last - 1].data() - piece.data()) + words[last - 1].size();
  if (at > 0) part(piece.substr(0, at), false);
  part(piece.substr(at, end - at), true);
  if (end < piece.size()) part(piece.substr(end), false);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

bool is_sure_name(std::string_view name) {
  return std::any_of(name.begin(), name.end(), is_letter) &&
         name.find_first_of("0123456789-") != std::string_view::npos;
}

bool is_ordinary(std::string_view name) {
  const std::string lower = lower_case(name);
  const bool is_number = std::none_of(name.begin(), name.end(), is_letter);
  return is_number || holds(kOrdinary, lower);
}

bool stands_as_host(std::string_view text, std::size_t at, std::size_t end) {
  static constexpr std::array<std::string_view, 16> kBefore = {"node ",
                                                               "node: ",
                                                               "host ",
                                                               "host: ",
                                                               "link ",
                                                               "member ",
                                                               "ssh ",
                                                               "://",
                                                               "@",
                                                               "->",
                                                               "=",
                                                               " ON ",
                                                               "connect to ",
                                                               "connecting to ",
                                                               "connection to ",
                                                               "srun: error: "};
  const std::string_view before = text.substr(0, at);
  if (at == 0 && end == text.size()) return true;
  if (std::any_of(kBefore.begin(), kBefore.end(),
                  [&](std::string_view word) { return ends_with(before, word); })) {
    return true;
  }
  const std::string_view after = text.substr(end);
  if (after.substr(0, 3) == "<->" || after.substr(0, 2) == "->") return true;
  if (after.size() > 1 && after[0] == ':' && is_digit(after[1])) return true;
  const char opening = before.empty() ? '\0' : before.back();
  const char closing = after.empty() ? '\0' : after[0];
  return (opening == '[' && closing == ']') || (opening == '(' && closing == ',') ||
         (opening == '"' && closing == '"') || (opening == '\'' && closing == '\'');
}

void each_part(std::string_view file_name,
               const std::function<void(std::string_view, bool is_name)>& part) {
  for (std::size_t i = 0; i < file_name.size();) {
    std::size_t end = i;
    while (end < file_name.size() && is_part_of_name(file_name[end])) ++end;
    if (end > i) pieces(file_name.substr(i, end - i), part);
    if (end < file_name.size()) part(file_name.substr(end, 1), false);
    i = end + 1;
  }
}

}  // namespace collwatch::diagnose
