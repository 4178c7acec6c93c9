// SPDX-License-Identifier: Apache-2.0
//
// What is known about every fingerprint: how it shows, why it happens, what to do, and the lines
// that give it away. Read from configs/fingerprints/*.yaml, which is built into the program, with
// users' own files merged over it. The log engine takes the patterns, `explain` and the documents
// the rest. An immutable value once loaded; any thread may read it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "probes/model/result.h"
#include "probes/model/vocabulary.h"

namespace collwatch::catalogue {

/// What a line says about the rank that printed it. In rising order: where several patterns match
/// a line, the highest role speaks for it, and of equal ones the first in the catalogue.
///   benign      looks like trouble and is none
///   context     a fact that helps (a retry, a counter, a version), no failure by itself
///   collateral  the failure of somebody else, as felt here
///   initiating  what went wrong, went wrong here
enum class Role { benign, context, collateral, initiating };

struct Pattern {
  std::string id;        ///< unique in the catalogue: "gloo_recv_timeout"
  std::string match;     ///< RE2; named groups are the fields (docs/schema/fingerprints-file.md)
  std::string versions;  ///< in which versions the text is printed like this
  Role role = Role::context;
  model::Fingerprint fingerprint = model::Fingerprint::none;
  std::vector<std::string> examples;  ///< lines that `match` finds
};

struct Cause {
  std::string cause;
  std::string evidence;  ///< what tells it from the other causes
};

/// fix and verify may hold {rank} {host} {interface} {op} {peer} {group} {file}.
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
  std::map<std::string, std::string> frameworks;  ///< how it looks in each, by name
  std::vector<std::string> phrases;  ///< what people call it though no version prints it
  std::vector<Pattern> patterns;
};

class Catalogue {
 public:
  /// What is built in. An error is a bug of ours that the tests catch.
  static model::Result<Catalogue> built_in();

  /// A user's file over it: of an entry that is known the given fields are replaced and the
  /// patterns added (one with a known id replaces that one). Errors name file, line and key; then
  /// nothing was merged.
  model::Result<void> merge_file(const std::string& path);
  /// The same from bytes; `name` stands in front of messages.
  model::Result<void> merge(const std::string& yaml, const std::string& name);

  const Entry* find(model::Fingerprint id) const;
  /// In the order of the vocabulary.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace collwatch::catalogue

template <>
struct collwatch::model::Names<collwatch::catalogue::Role> {
  static constexpr auto value =
      std::to_array<std::string_view>({"benign", "context", "collateral", "initiating"});
};
