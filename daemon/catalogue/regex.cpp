// SPDX-License-Identifier: Apache-2.0
//
// Bounds on RE2: the pattern's length, and the memory of its program and of its lazily built
// automaton together. Past the latter RE2 forgets states and stays linear.
#include "daemon/catalogue/regex.h"

#include <re2/re2.h>

#include <vector>

namespace collwatch::catalogue {
namespace {

constexpr int kMaxMemory = 1 << 20;

RE2::Options options() {
  RE2::Options options(RE2::Latin1);
  options.set_max_mem(kMaxMemory);
  options.set_log_errors(false);
  return options;
}

}  // namespace

Regex::Regex(std::unique_ptr<re2::RE2> compiled) : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

model::Result<Regex> Regex::compile(const std::string& pattern) {
  const auto refuse = [](const std::string& why) {
    return model::fail(model::ErrorCode::invalid_argument, why);
  };
  if (pattern.size() > kMaxPatternBytes) {
    return refuse("longer than " + std::to_string(kMaxPatternBytes) + " bytes");
  }
  auto compiled = std::make_unique<RE2>(pattern, options());
  if (!compiled->ok()) return refuse("not a regular expression: " + compiled->error());
  if (RE2::PartialMatch("", *compiled)) return refuse("finds something in an empty line");
  return Regex(std::move(compiled));
}

bool Regex::finds(std::string_view line) const {
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *compiled_);
}

std::optional<std::map<std::string, std::string>> Regex::fields(std::string_view line) const {
  const int groups = compiled_->NumberOfCapturingGroups() + 1;
  std::vector<re2::StringPiece> found(static_cast<std::size_t>(groups));
  const re2::StringPiece text(line.data(), line.size());
  if (!compiled_->Match(text, 0, text.size(), RE2::UNANCHORED, found.data(), groups)) {
    return std::nullopt;
  }
  std::map<std::string, std::string> fields;
  for (const auto& [index, name] : compiled_->CapturingGroupNames()) {
    const re2::StringPiece& group = found[static_cast<std::size_t>(index)];
    if (group.data() != nullptr) fields[name] = std::string(group.data(), group.size());
  }
  return fields;
}

}  // namespace collwatch::catalogue
