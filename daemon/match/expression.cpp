// SPDX-License-Identifier: Apache-2.0
//
// RE2 behind a door: what it refuses, and what we do.
#include "daemon/match/expression.h"

#include <re2/re2.h>

#include <vector>

#include "daemon/match/re2_options.h"

namespace collwatch::match {

Expression::Expression(std::unique_ptr<re2::RE2> compiled) : compiled_(std::move(compiled)) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

model::Result<Expression> Expression::compile(const std::string& text) {
  const auto refuse = [](const std::string& why) {
    return model::fail(model::ErrorCode::invalid_argument, why);
  };
  if (text.size() > kMostExpressionBytes) {
    return refuse("longer than " + std::to_string(kMostExpressionBytes) + " bytes");
  }
  auto compiled = std::make_unique<RE2>(text, re2_options(kLeastMemory));
  if (compiled->error_code() == RE2::ErrorPatternTooLarge)
    return refuse("needs too much memory: repeat less, as with {50}");
  if (!compiled->ok()) return refuse("not a regular expression: " + compiled->error());
  if (compiled->NumberOfCapturingGroups() > kMostGroups) {
    return refuse("more than " + std::to_string(kMostGroups) + " groups");
  }
  if (RE2::PartialMatch("", *compiled)) return refuse("finds something in an empty line");
  return Expression(std::move(compiled));
}

bool Expression::finds(std::string_view line) const {
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *compiled_);
}

std::optional<std::map<std::string, std::string>> Expression::fields(std::string_view line) const {
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

}  // namespace collwatch::match
