// SPDX-License-Identifier: Apache-2.0
//
// The built-in catalogue's patterns, compiled once for all tests of a program.
#pragma once

#include <utility>

#include "daemon/catalogue/catalogue.h"
#include "daemon/diagnose/patterns.h"
#include "tests/support/catch.h"

namespace collwatch::test {

inline const diagnose::Patterns& patterns() {
  static const auto* built = [] {
    const auto catalogue = catalogue::Catalogue::built_in();
    REQUIRE(catalogue);
    auto compiled = diagnose::Patterns::build(*catalogue);
    REQUIRE(compiled);
    return new diagnose::Patterns(std::move(*compiled));
  }();
  return *built;
}

}  // namespace collwatch::test
