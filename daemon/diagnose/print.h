// SPDX-License-Identifier: Apache-2.0
//
// A diagnosis as JSON (design 2.5), as text for a person, as markdown for a ticket; and redaction,
// which goes over the diagnosis before it is printed. Pure.
#pragma once

#include <string>

#include "daemon/diagnose/diagnosis.h"

namespace collwatch::diagnose {

std::string to_json(const Diagnosis& diagnosis);

/// Escape sequences only with `colour`.
std::string to_text(const Diagnosis& diagnosis, const catalogue::Catalogue& catalogue, bool colour);

std::string to_markdown(const Diagnosis& diagnosis, const catalogue::Catalogue& catalogue);

/// Replaces addresses, host names, users, folders and names of files by stand-ins: the same one for
/// the same thing everywhere in this diagnosis. An agent's word is redacted with it before the two
/// are joined: what joining writes holds stand-ins from the start.
void redact(Diagnosis& diagnosis, AgentWord* word = nullptr);

}  // namespace collwatch::diagnose
