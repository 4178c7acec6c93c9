// SPDX-License-Identifier: Apache-2.0
//
// How things end badly inside the Gloo worker: an outcome from the common vocabulary, which half of
// an exchange did not complete, and the library's own words. Thrown only within this folder, on an
// edge's or the group's own thread; it becomes a report there and goes no further.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "probes/model/vocabulary.h"
#include "probes/wire/message.h"

namespace collwatch::gloo_probe {

struct Failure {
  model::Outcome outcome = model::Outcome::error;
  wire::Half half = wire::Half::none;
  std::string text;
};

/// A failure that we recognised ourselves, already typed. What Gloo throws is typed by classify().
class ProbeError : public std::exception {
 public:
  explicit ProbeError(Failure failure) : failure_(std::move(failure)) {}
  ProbeError(model::Outcome outcome, std::string text)
      : failure_{outcome, wire::Half::none, std::move(text)} {}

  const Failure& failure() const { return failure_; }
  const char* what() const noexcept override { return failure_.text.c_str(); }

 private:
  Failure failure_;
};

/// Superseded, closed or stopped: leave without a word.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace collwatch::gloo_probe
