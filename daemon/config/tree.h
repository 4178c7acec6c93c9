// SPDX-License-Identifier: Apache-2.0
//
// A configuration value before it has a type: text, list or section, each with the line it came
// from. The YAML reader makes these from a file, load makes them from flags and the environment,
// and the key table turns them into typed values. Pure data, plus the list in which everything
// that is wrong with a configuration is collected, so that all of it is told at once.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::config {

struct Tree {
  enum class Shape { nothing, text, list, section };
  struct Entry;

  Shape shape = Shape::nothing;
  int line = 0;                ///< from 1; 0 when it did not come from a file
  std::string text;            ///< Shape::text
  std::vector<Tree> items;     ///< Shape::list
  std::vector<Entry> entries;  ///< Shape::section, in the file's order, duplicates included
};

struct Tree::Entry {
  std::string key;
  int line = 0;
  Tree value;
};

/// Sentences about what is wrong, each beginning with where: "collwatch.yaml:12: probes.edge: ...".
class Problems {
 public:
  void add(std::string sentence) {
    // A hostile file must not make a message of any size; nobody reads more than this either.
    if (sentences_.size() < kMost) sentences_.push_back(std::move(sentence));
    ++seen_;
  }
  bool empty() const { return sentences_.empty(); }
  /// One Error, a sentence per line. Only when !empty().
  model::Error error() const;

 private:
  static constexpr std::size_t kMost = 50;
  std::vector<std::string> sentences_;
  std::size_t seen_ = 0;
};

/// `text` as it may appear in a message: cut at 64 bytes, control characters replaced by '?'.
std::string shown(const std::string& text);

}  // namespace collwatch::config
