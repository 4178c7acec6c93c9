// SPDX-License-Identifier: Apache-2.0
//
// From command line arguments to a list of files, and from paths to hints.
#include "daemon/logs/source.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

namespace collwatch::logs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 100000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

std::optional<long> number_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == at || end - at > 9) return std::nullopt;
  long value = 0;
  std::from_chars(text.data() + at, text.data() + end, value);
  return value;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return out;
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    if (end > start) parts.emplace_back(path.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// The number after `word` (and at most one of _ - . = between), where the word does not continue
/// another one: "rank" in "nccl-rank-6.log" but not in "localrank6".
std::optional<int> number_after(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if (at > 0 && is_letter(text[at - 1])) continue;
    std::size_t next = at + word.size();
    if (next < text.size() && std::string_view("_-.=").find(text[next]) != std::string_view::npos) {
      ++next;
    }
    const auto value = number_at(text, next);
    if (value) return static_cast<int>(*value);
  }
  return std::nullopt;
}

/// torchrun's folder attempt_0/3/, or the same flattened into one name, attempt_0_3_stderr.log.
void hint_from_attempt(const std::vector<std::string>& parts, PathHint& hint) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].rfind("attempt_", 0) != 0) continue;
    const auto attempt = number_at(parts[i], 8);
    if (!attempt) continue;
    hint.attempt = static_cast<int>(*attempt);
    const std::size_t digits = parts[i].find_first_not_of("0123456789", 8);
    if (digits != std::string::npos && parts[i][digits] == '_') {
      const auto local = number_at(parts[i], digits + 1);
      if (local) hint.local_rank = static_cast<int>(*local);
    } else if (i + 1 < parts.size()) {
      const auto local = number_at(parts[i + 1], 0);
      if (local) hint.local_rank = static_cast<int>(*local);
    }
  }
}

/// /var/log/pods/NAMESPACE_POD_UID/CONTAINER/0.log: the number is a restart, never a rank.
void hint_from_pod(const std::vector<std::string>& parts, PathHint& hint) {
  for (std::size_t i = 0; i + 2 < parts.size(); ++i) {
    const std::string& folder = parts[i];
    const std::size_t first = folder.find('_');
    const std::size_t last = folder.rfind('_');
    const bool looks = first != std::string::npos && last > first && folder.size() - last > 30;
    if (!looks && !(i > 0 && parts[i - 1] == "pods")) continue;
    if (first == std::string::npos || last <= first) continue;
    hint.host = folder.substr(first + 1, last - first - 1);
    const auto restart = number_at(parts.back(), 0);
    if (restart) hint.attempt = static_cast<int>(*restart);
  }
}

/// Ray: worker-WORKERID-JOBID-PID.out.
void hint_from_ray(const std::string& name, PathHint& hint) {
  if (name.rfind("worker-", 0) != 0) return;
  const std::size_t dash = name.rfind('-');
  const std::size_t dot = name.rfind('.');
  if (std::count(name.begin(), name.end(), '-') < 3 || dot == std::string::npos || dot < dash)
    return;
  hint.pid = number_at(name, dash + 1);
}

template <std::size_t N>
bool ends_as(const fs::path& path, const std::array<std::string_view, N>& endings) {
  const std::string ending = lower(path.extension().string());
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

bool cannot_be_a_log(const fs::path& path) {
  static constexpr std::array<std::string_view, 23> kEndings = {
      ".yaml", ".yml", ".pt",  ".pth",  ".bin",     ".npy",   ".npz", ".safetensors",
      ".png",  ".jpg", ".pdf", ".so",   ".o",       ".py",    ".pyc", ".tar",
      ".zip",  ".h5",  ".db",  ".pipe", ".parquet", ".arrow", ".onnx"};
  return ends_as(path, kEndings);
}

/// No log either, but what the Flight Recorder wrote may be called so.
bool can_only_be_a_dump(const fs::path& path) {
  static constexpr std::array<std::string_view, 3> kEndings = {".json", ".pkl", ".pickle"};
  return ends_as(path, kEndings);
}

model::Result<void> walk(const std::string& folder, std::vector<Source>& into) {
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  if (error) return model::fail(model::ErrorCode::io, folder + ": " + error.message());
  std::vector<std::string> names;
  const auto must_enter = [&](const std::string& inner) {
    if (::access(inner.c_str(), R_OK | X_OK) == 0) return;
    Source closed;
    closed.name = inner;
    closed.problem = std::generic_category().message(errno);
    into.push_back(std::move(closed));
  };
  must_enter(folder);
  for (; it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (error) return model::fail(model::ErrorCode::io, folder + ": " + error.message());
    if (it->is_directory(error)) must_enter(it->path().string());
    if (!it->is_regular_file(error) || error || cannot_be_a_log(it->path())) continue;
    if (into.size() + names.size() >= kMostFiles) {
      return model::fail(model::ErrorCode::limit,
                         folder + ": more than " + std::to_string(kMostFiles) + " files");
    }
    names.push_back(it->path().string());
  }
  std::sort(names.begin(), names.end());
  for (std::string& name : names) {
    Source source;
    source.hint = hint_from_path(name);
    source.is_no_log = can_only_be_a_dump(name);
    source.name = std::move(name);
    into.push_back(std::move(source));
  }
  return {};
}

struct Numbered {
  std::size_t source;
  int number;
};

bool counts_from_zero(const std::vector<Numbered>& group) {
  std::set<int> numbers;
  for (const Numbered& one : group) numbers.insert(one.number);
  return group.size() >= 2 && numbers.size() == group.size() && *numbers.begin() == 0 &&
         *numbers.rbegin() == static_cast<int>(group.size()) - 1;
}

}  // namespace

PathHint hint_from_path(std::string_view path) {
  PathHint hint;
  const std::vector<std::string> parts = parts_of(path);
  if (parts.empty()) return hint;
  hint_from_attempt(parts, hint);
  hint_from_pod(parts, hint);
  hint_from_ray(parts.back(), hint);
  const std::string name = lower(parts.back());
  hint.rank = number_after(name, "rank");
  if (!hint.rank && parts.size() > 1)
    hint.rank = number_after(lower(parts[parts.size() - 2]), "rank");
  if (const auto local = number_after(name, "local_rank")) {
    hint.local_rank = local;
    hint.rank.reset();
  }
  for (const std::string_view word : {"node", "host"}) {
    if (!hint.host.empty()) break;
    if (const auto node = number_after(name, word))
      hint.host = std::string(word) + std::to_string(*node);
  }
  return hint;
}

model::Result<std::vector<Source>> find_sources(const std::vector<std::string>& arguments) {
  std::vector<Source> sources;
  for (const std::string& argument : arguments) {
    if (argument == "-") {
      Source source;
      source.name = "-";
      source.is_stdin = true;
      sources.push_back(source);
      continue;
    }
    std::error_code error;
    const fs::file_status status = fs::status(argument, error);
    if (!fs::exists(status)) {
      return model::fail(model::ErrorCode::not_found, argument + ": no such file or folder");
    }
    if (fs::is_directory(status)) {
      if (auto walked = walk(argument, sources); !walked) return model::fail(walked.error());
      continue;
    }
    Source source;
    source.name = argument;
    source.may_wait = !fs::is_regular_file(status);
    source.hint = hint_from_path(argument);
    sources.push_back(source);
  }
  infer_ranks(sources);
  return sources;
}

void infer_ranks(std::vector<Source>& sources) {
  std::map<std::string, std::vector<Numbered>> groups;  // the name without one number -> who has it
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const PathHint& hint = sources[i].hint;
    if (sources[i].is_stdin || hint.rank || hint.local_rank || hint.attempt || hint.pid) continue;
    const std::string& name = sources[i].name;
    for (std::size_t at = name.rfind('/') + 1; at < name.size(); ++at) {
      if (!is_digit(name[at]) || (at > 0 && is_digit(name[at - 1]))) continue;
      const auto number = number_at(name, at);
      if (!number) continue;
      const std::size_t end = name.find_first_not_of("0123456789", at);
      const std::string rest = end == std::string::npos ? "" : name.substr(end);
      groups[name.substr(0, at) + "%" + rest].push_back({i, static_cast<int>(*number)});
    }
  }
  for (const auto& [name, group] : groups) {
    if (!counts_from_zero(group)) continue;
    for (const Numbered& one : group) sources[one.source].hint.rank = one.number;
  }
}

}  // namespace collwatch::logs
