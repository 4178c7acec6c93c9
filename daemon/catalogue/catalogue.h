// SPDX-License-Identifier: Apache-2.0
//
// The encyclopedia of failures: one Entry for each fingerprint, with what it means, how to tell its
// causes apart, what to do, and the texts that it prints in each version. Read once from
// configs/fingerprints/*.yaml (built into the program) with the user's own files merged over it.
// Used by the log engine (daemon/diagnose), by `collwatch explain` and by the documentation. Plain
// data after loading: any thread may read it.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "probes/model/result.h"
#include "probes/model/vocabulary.h"

namespace collwatch::catalogue {

/// What a matching line says about the process that printed it. Where several patterns match a
/// line, a fallback yields to any other, then the earliest role speaks for it, and of equal roles
/// the first pattern in the catalogue (see `before`).
enum class Role {
  initiating,  ///< it broke here: the printer is the culprit, or the text names it
  collateral,  ///< the echo of what somebody else did
  context,     ///< an observer's report of a failure: true, but neither cause nor echo by itself
  benign       ///< no failure by itself: looks alarming, or is a retry, a warning, a fact
};

/// One text, in RE2 syntax. Named groups are the fields that are extracted from it: peer, rank, op,
/// seq, timeout_ms, size, group, key, host, interface, pid, exit_code, ...
struct Pattern {
  std::string id;
  std::string match;
  std::string versions;
  Role role = Role::context;
  model::Fingerprint fingerprint = model::Fingerprint::none;
  bool fallback = false;              ///< speaks only where no pattern without this flag matches
  std::vector<std::string> examples;  ///< lines that `match` finds
  std::string origin;                 ///< file:line of a user's own file; empty: built in
};

/// Which of two patterns that match the same line speaks for it; patterns() is in this order only
/// as to the last criterion, so keep the index.
inline bool before(const Pattern& a, std::size_t index_of_a, const Pattern& b,
                   std::size_t index_of_b) {
  if (a.fallback != b.fallback) return b.fallback;
  if (a.role != b.role) return a.role < b.role;
  return index_of_a < index_of_b;
}

/// In the whole catalogue: what they need together stays bounded, whatever a user's file holds.
inline constexpr std::size_t kMostPatterns = 2000;

struct Cause {
  std::string cause;
  std::string evidence;  ///< what tells this cause from the others
};

/// `fix` and `verify` may hold {rank} {host} {interface} {op} {peer} {group} {file}; the engine
/// fills them with the actual value or a readable word.
struct Entry {
  model::Fingerprint id = model::Fingerprint::none;
  std::string title;
  std::string layer;
  std::string symptom;
  std::string mechanism;
  std::vector<Cause> causes;  ///< the likeliest first
  std::string fix;
  std::string takes;
  std::string verify;  ///< commands, a line each
  std::string prevention;
  std::vector<model::Fingerprint> related;
  std::vector<std::string> references;
  std::string executive;
  std::string engineer;
  std::string on_call;
  std::vector<std::string> environment;  ///< variables that tell it from its neighbours, and how
  std::map<std::string, std::string> frameworks;  ///< how it looks in each, by its name
  std::vector<std::string> phrases;  ///< what people call it although no version prints it
  std::vector<Pattern> patterns;
};

struct Change;  ///< read_entries.h

class Catalogue {
 public:
  /// The entries that this program was built with. An error is a bug of ours that the tests catch.
  static model::Result<Catalogue> built_in();

  /// Entries of a user's file over those already here: the given fields replace, patterns are added
  /// (one with a known id replaces that one). Errors name file, line and key; then nothing changed.
  model::Result<void> merge_file(const std::string& path);
  /// The same from bytes; `name` stands in front of messages.
  model::Result<void> merge(const std::string& yaml, const std::string& name);

  const Entry* find(model::Fingerprint id) const;
  /// In the order of the vocabulary.
  const std::vector<Entry>& entries() const { return entries_; }

  /// The patterns of all entries, in the order of the entries.
  std::vector<Pattern> patterns() const;

 private:
  model::Result<void> apply_all(std::vector<Change> changes, const std::string& name);

  std::vector<Entry> entries_;
};

}  // namespace collwatch::catalogue

template <>
struct collwatch::model::Names<collwatch::catalogue::Role> {
  static constexpr auto value =
      std::to_array<std::string_view>({"initiating", "collateral", "context", "benign"});
};
