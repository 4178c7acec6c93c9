// SPDX-License-Identifier: Apache-2.0
//
// What an agent's probes say, joined with what the logs say: whether the network was at fault, or
// can be ruled out. The agent is asked by the caller; joining is pure. Used by `diagnose --agent`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/diagnose/torch_word.h"

namespace collwatch::diagnose {

struct Diagnosis;

/// Whom the probes hold responsible, in the words of /api/v1/verdicts.
struct AgentVerdict {
  std::string kind, entity, reason, fingerprint;
  std::string state;                 ///< suspect, ticket, page
  std::string since;                 ///< RFC 3339
  std::optional<std::string> until;  ///< where it is over
};

/// How the probes' word bears on the diagnosis.
enum class Relation {
  unreachable,  ///< no answer
  blind,        ///< an answer, but this agent sees nothing at present, or did not see this job
  clean,        ///< the network is well: look at the job
  culprit,      ///< the probes fail where the log shows an echo
  past,         ///< they did, and it is not known whether at the time of the log
  beside        ///< they fail somewhere, which does not explain this log
};

struct AgentWord {
  std::string url;
  std::string problem;  ///< why there is no word, or why the agent sees nothing; else empty
  bool answered = false;
  std::string node;
  std::int64_t round = 0;
  std::optional<std::int64_t> clean_rounds;  ///< on end; older agents do not tell
  double asked_at = 0;                       ///< seconds since 1970
  std::vector<std::string> members;          ///< of its ring, itself among them
  std::vector<AgentVerdict> verdicts;        ///< standing, worst first
  std::vector<AgentVerdict> past;            ///< those that are over, newest first
  TorchWord torch;                           ///< what its libtorch refuses

  // Filled in by join().
  Relation relation = Relation::unreachable;
  std::string text;  ///< one sentence
};

const char* relation_name(Relation relation);

/// Adds the word to the diagnosis: to its reasons, to what to do next, and as `agent`. The class
/// stays; a culprit is named where the logs knew none.
void join(Diagnosis& diagnosis, AgentWord word);

}  // namespace collwatch::diagnose
