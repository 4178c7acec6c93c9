// SPDX-License-Identifier: Apache-2.0
//
// CBOR in and out through nlohmann-json, made safe for strangers: the parser refuses nesting deeper
// than any message of ours (the library recurses, so depth is stack), never throws, and fields are
// read with strict types and caps. Used by this folder's codec files only; pure.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "probes/model/result.h"
#include "probes/model/vocabulary.h"

namespace collwatch::peer {

using Json = nlohmann::json;

/// A neighbour may speak a later version; what we do not know of it is ignored.
inline constexpr int kMaxWireVersion = 1000;

std::string to_cbor(const Json& value);
/// The whole of `bytes` as one value.
model::Result<Json> parse_cbor(std::string_view bytes);

/// Valid UTF-8 without control characters: safe to log, to label and to put into JSON.
bool is_clean_text(std::string_view text);
/// Any bytes as printable ASCII, at most `max` of them: for sentences, where exactness is no use.
std::string printable(std::string_view text, std::size_t max);

/// Reads the fields of one object or array. The first thing wrong is kept and everything after it
/// reads as empty, so that a caller checks ok() once, at the end.
class Fields {
 public:
  explicit Fields(const Json& value) : value_(value) {}

  /// The field named `key`, or the element at `index`; nullptr if missing.
  const Json* at(const char* key);
  const Json* at(std::size_t index);

  /// Names, ids: clean text of at least one byte unless `may_be_empty`.
  std::string text(const Json* field, std::size_t max, bool may_be_empty = false);
  std::string sentence(const Json* field, std::size_t max);
  std::vector<char> blob(const Json* field, std::size_t max);
  /// An array of at most `max` elements; an empty one when something is wrong.
  const Json& array(const Json* field, std::size_t max);
  bool is_null(const Json* field) const { return field != nullptr && field->is_null(); }

  template <typename T>
  T integer(const Json* field, std::int64_t min = std::numeric_limits<T>::min(),
            std::uint64_t max = std::numeric_limits<T>::max()) {
    return static_cast<T>(whole_number(field, min, max));
  }

  /// An enumerator by name; a word of a later version reads as `unknown`.
  template <typename E>
  E word(const Json* field, E unknown) {
    return model::parse<E>(text(field, 64)).value_or(unknown);
  }
  /// An enumerator by number, below `count`; a later version's reads as `unknown`.
  template <typename E>
  E number(const Json* field, std::size_t count, E unknown) {
    const auto index = integer<std::uint8_t>(field);
    return index < count ? static_cast<E>(index) : unknown;
  }

  bool ok() const { return problem_.empty(); }
  void refuse(const std::string& expected);
  model::Error error() const { return {model::ErrorCode::protocol, problem_, 0}; }

 private:
  /// The bits of an integer between min and max; signed ones in two's complement.
  std::uint64_t whole_number(const Json* field, std::int64_t min, std::uint64_t max);

  const Json& value_;
  std::string last_;  ///< what at() was asked for last, for the sentence
  std::string problem_;
};

}  // namespace collwatch::peer
