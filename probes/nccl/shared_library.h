// SPDX-License-Identifier: Apache-2.0
//
// A library that is opened at run time and its functions by name. Never closed: what has started
// threads cannot be unloaded, and this process ends soon. Used by the loaders of this folder.
#pragma once

#include <string>

#include "probes/model/result.h"

namespace collwatch::nccl_probe {

class SharedLibrary {
 public:
  /// A path, or a name that the dynamic loader looks for. ErrorCode::not_found with its words.
  static model::Result<SharedLibrary> open(const std::string& name);

  void* symbol(const char* name) const;

  /// Puts the function `name` into `target`; false if there is none, and `target` is null.
  template <typename F>
  bool bind(F*& target, const char* name) const {
    target = reinterpret_cast<F*>(symbol(name));
    return target != nullptr;
  }

  /// Where the loader took it from.
  std::string path_of(const void* symbol_in_it) const;

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace collwatch::nccl_probe
