// SPDX-License-Identifier: Apache-2.0
//
// The result of reading logs, as design 2.5 has it: the verdict, the findings that it rests on, how
// each rank ended. Plain values; json.cpp, text.cpp and markdown.cpp print them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/catalogue/catalogue.h"
#include "daemon/diagnose/agent_word.h"
#include "probes/model/vocabulary.h"

namespace collwatch::diagnose {

struct Initiating {
  std::optional<int> rank;
  std::optional<int> group_rank;
  std::optional<std::string> host;
  std::optional<int> local_rank;
  std::optional<long> pid;
  std::optional<std::string> file;
  std::optional<long> line;
};

struct Verdict {
  model::Fingerprint fingerprint = model::Fingerprint::none;
  model::Confidence confidence = model::Confidence::high;
  std::optional<Initiating> initiating;
  std::vector<int> collateral_ranks;
  std::string root_cause;
  std::vector<std::string> why;
  std::string next_action;
  std::vector<std::string> missing_evidence;
  std::string fix;
  std::string verify;
};

struct Finding {
  model::Fingerprint fingerprint = model::Fingerprint::none;
  catalogue::Role role = catalogue::Role::context;
  std::optional<int> rank;
  std::optional<std::string> host;
  std::string file;
  long line = 0;
  std::optional<std::string> time;
  std::string text;
  std::map<std::string, std::string> fields;
};

struct RankEnd {
  int rank = 0;
  std::string state;  ///< failed, failed_waiting, lost_peer, killed, silent, no_log, ok
  std::optional<long> last_line;
};

struct Scanned {
  long files = 0;
  long bytes = 0;
  double seconds = 0;
};

/// Printed nowhere: what redaction has to know by name.
struct Mentioned {
  std::vector<std::string> files;
  std::vector<std::string> hosts;
};

/// Printed nowhere: what an agent's word is compared with.
struct Course {
  std::vector<std::string> times;  ///< first and last of each file, where the zone is known
  bool trained = false;            ///< the last ordinary words tell of a step after the first
};

struct Diagnosis {
  Verdict verdict;
  std::vector<Finding> findings;
  std::vector<RankEnd> ranks;
  std::vector<model::Fingerprint> related;
  Scanned scanned;
  std::optional<AgentWord> agent;   ///< where one was asked
  std::vector<std::string> unread;  ///< what could not be read, also in missing_evidence
  Mentioned mentioned;
  /// What fix and verify were filled from: redaction changes the values, not the sentences.
  std::string fix_template, verify_template;
  std::map<std::string, std::string> filled;
  Course course;
};

}  // namespace collwatch::diagnose
