// SPDX-License-Identifier: Apache-2.0
//
// Rules from text to outcome, first match wins. Order matters in two places: an errno at the end of
// a text says more than the frame around it ("timed out connecting: SO_ERROR: Connection refused"),
// and a wait that timed out says which half it was.
#include "probes/gloo/outcome.h"

#include <array>

namespace collwatch::gloo_probe {
namespace {

using model::Outcome;
using wire::Half;

struct Rule {
  std::string_view part;   ///< somewhere in the text
  std::string_view other;  ///< and this, too (empty: nothing)
  Outcome outcome;
  Half half = Half::none;
};

constexpr std::array kRules{
    // A wait of ours that ran out.
    Rule{"Timed out waiting ", "for send operation to complete", Outcome::timeout, Half::send},
    Rule{"Timed out waiting ", "for recv operation to complete", Outcome::timeout, Half::recv},
    Rule{"Write timeout [", "", Outcome::timeout, Half::send},
    Rule{"Read timeout [", "", Outcome::timeout, Half::recv},
    Rule{"Application timeout caused pair closure", "", Outcome::timeout},

    // What the kernel said.
    Rule{"Connection refused", "", Outcome::refused},
    Rule{"No route to host", "", Outcome::unreachable},
    Rule{"Network is unreachable", "", Outcome::unreachable},
    Rule{"Host is down", "", Outcome::unreachable},
    Rule{"Connection timed out", "", Outcome::timeout},
    Rule{"Connection reset by peer", "", Outcome::peer_lost},
    Rule{"Broken pipe", "", Outcome::peer_lost},
    Rule{"Connection closed by peer", "", Outcome::peer_lost},
    Rule{"Socket closed [", "", Outcome::peer_lost},
    Rule{"Socket unexpectedly closed", "", Outcome::peer_lost},
    Rule{"Cannot assign requested address", "", Outcome::init_failed},

    // Connecting. "no error" is what the 2023 build says for every errno.
    Rule{"Connect timeout [", "", Outcome::timeout},
    Rule{"timed out connecting", "", Outcome::timeout},
    Rule{"] no error", "", Outcome::init_failed},

    // The other side speaks another dialect.
    Rule{"sizeof(impl_) == bytes.size()", "", Outcome::mismatch},
    Rule{"op.preamble.length <= op.nbytes", "", Outcome::mismatch},
    Rule{"address family mismatch", "", Outcome::mismatch},
    Rule{"ss1.ss_family == ss2.ss_family", "", Outcome::mismatch},
    Rule{"bad_alloc", "", Outcome::mismatch},  // the 2023 build on an address of the 2022 one
    Rule{"Cannot connect to self", "", Outcome::mismatch},

    // Asked for something that cannot be.
    Rule{"rank < size", "", Outcome::misuse},
    Rule{"Unable to find address for", "", Outcome::init_failed},
    Rule{"Unable to find interface for", "", Outcome::init_failed},

    // Stores (ours says never_joined by its own exception).
    Rule{"ait timeout for key(s):", "", Outcome::never_joined},
    Rule{"ait timeout after", "keys:", Outcome::never_joined},
};

bool before_connected(model::Phase phase) {
  return phase == model::Phase::device_init || phase == model::Phase::rendezvous ||
         phase == model::Phase::connect;
}

}  // namespace

Failure classify(std::string_view text, model::Phase phase) {
  const auto contains = [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  for (const Rule& rule : kRules) {
    if (contains(rule.part) && contains(rule.other)) {
      return {rule.outcome, rule.half, std::string(text)};
    }
  }
  return {before_connected(phase) ? Outcome::init_failed : Outcome::error, Half::none,
          std::string(text)};
}

}  // namespace collwatch::gloo_probe
