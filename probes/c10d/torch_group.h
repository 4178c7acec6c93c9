// SPDX-License-Identifier: Apache-2.0
//
// A ProcessGroupGloo of two ranks and the words of what it throws; for the two files that call
// libtorch only. The same source for libtorch 1.13 and newer: what differs is asked for by feature
// at compile time.
#pragma once

// ATen and not torch/torch.h: a third of the compile time.
#include <ATen/ATen.h>

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "probes/c10d/child_pair.h"
#include "probes/c10d/words.h"

namespace collwatch::c10d_probe {

using Group = c10d::ProcessGroupGloo;
using GroupPointer = c10::intrusive_ptr<Group>;

inline GroupPointer make_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                               std::chrono::milliseconds timeout) {
  const auto options = Group::Options::create(timeout);
  // An address and not a name: whether this host's name resolves is another question.
  options->devices.push_back(Group::createDeviceForHostname("127.0.0.1"));
  options->threads = 1;
  return c10::make_intrusive<Group>(store, rank, size, options);
}

/// Whatever the body throws, as what it means and the library's own words.
inline Ending refusal_of(const std::function<Ending()>& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    return {wire::C10dEnd::refused, first_words(error.what_without_backtrace())};
  } catch (const std::exception& error) {
    return {wire::C10dEnd::refused, first_words(error.what())};
  } catch (...) {
    return {wire::C10dEnd::refused, "an exception of a type of its own"};
  }
}

}  // namespace collwatch::c10d_probe
