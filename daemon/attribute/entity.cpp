// SPDX-License-Identifier: Apache-2.0
//
// How causes are spelled (design 2.6), and how an agent judges whether it hears a peer.
#include <algorithm>

#include "daemon/attribute/explain.h"

namespace collwatch::attribute {
namespace {

std::string name_of(Member member, const std::vector<std::string>& names) {
  return member < names.size() ? names[member] : "?";
}

}  // namespace

std::string entity(const Cause& cause, const std::vector<std::string>& names) {
  switch (cause.kind) {
    case model::Kind::link: {
      std::string a = name_of(cause.a, names);
      std::string b = name_of(cause.b, names);
      if (b < a) std::swap(a, b);
      return a + "<->" + b;
    }
    case model::Kind::directed_link:
      return name_of(cause.a, names) + "->" + name_of(cause.b, names);
    case model::Kind::partition: {
      std::vector<std::string> side;
      for (const Member m : cause.group) side.push_back(name_of(m, names));
      std::sort(side.begin(), side.end());
      std::string text;
      for (const std::string& n : side) text += (text.empty() ? "" : ",") + n;
      return text;
    }
    default:
      return name_of(cause.a, names);
  }
}

Heard hearing(std::int64_t heard_age_ms, std::int64_t failing_for_ms, std::int64_t interval_ms) {
  if (heard_age_ms < 0) return Heard::unknown;  // never: UDP may be filtered
  // Two datagrams a round: beyond this two are missing and one more had a tenth of a round to come.
  if (heard_age_ms > interval_ms + interval_ms / 10) return Heard::silent;
  if (failing_for_ms < 0) return Heard::heard;
  return heard_age_ms < failing_for_ms ? Heard::heard : Heard::unknown;
}

}  // namespace collwatch::attribute
