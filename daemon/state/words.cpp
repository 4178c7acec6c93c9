// SPDX-License-Identifier: Apache-2.0
//
// See words.h.
#include "daemon/state/words.h"

#include <algorithm>

namespace collwatch::state {

using attribute::EdgeState;
using attribute::EdgeWord;

bool cause_covers(const attribute::Cause& cause, const EdgeKey& edge) {
  if (cause.kind == model::Kind::partition) {
    const auto listed = [&cause](attribute::Member m) {
      return std::find(cause.group.begin(), cause.group.end(), m) != cause.group.end();
    };
    return listed(edge.first) != listed(edge.second);
  }
  if (is_node_fault(cause.kind) || cause.kind == model::Kind::self) {
    return cause.a == edge.first || cause.a == edge.second;
  }
  return (cause.a == edge.first && cause.b == edge.second) ||
         (cause.a == edge.second && cause.b == edge.first);
}

bool takes_part(const attribute::Evidence& evidence, attribute::Member member) {
  return member < evidence.expected.size() && evidence.expected[member];
}

Words::Words(const attribute::Evidence& evidence) {
  for (const auto& report : evidence.reports) {
    if (!takes_part(evidence, report.observer)) continue;
    for (const EdgeWord& word : report.edges) {
      if (takes_part(evidence, word.peer)) words_[{report.observer, word.peer}] = &word;
    }
  }
}

const EdgeWord* Words::find(const EdgeKey& edge) const {
  const auto it = words_.find(edge);
  return it == words_.end() ? nullptr : it->second;
}

bool Words::failing(const EdgeKey& edge) const {
  const EdgeWord* word = find(edge);
  return word != nullptr && word->state == EdgeState::failing && !is_over(edge, *word);
}

bool Words::works(const EdgeKey& edge) const {
  const EdgeWord* word = find(edge);
  if (word == nullptr) return false;
  return word->state == EdgeState::ok || is_over(edge, *word);
}

std::vector<EdgeKey> Words::failing_under(const attribute::Cause& cause) const {
  std::vector<EdgeKey> result;
  for (const auto& [edge, word] : words_) {
    if (cause_covers(cause, edge) && failing(edge)) result.push_back(edge);
  }
  return result;
}

bool Words::is_over(const EdgeKey& edge, const EdgeWord& word) const {
  const EdgeWord* other = find(reversed(edge));
  return other != nullptr && other->state == EdgeState::ok && other->round > word.round;
}

}  // namespace collwatch::state
