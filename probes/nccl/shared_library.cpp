// SPDX-License-Identifier: Apache-2.0
//
// dlopen, dlsym, dladdr.
#include "probes/nccl/shared_library.h"

#include <dlfcn.h>

namespace collwatch::nccl_probe {

model::Result<SharedLibrary> SharedLibrary::open(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* words = ::dlerror();
    return model::fail(model::ErrorCode::not_found,
                       words != nullptr ? words : "cannot load " + name);
  }
  return SharedLibrary(handle);
}

void* SharedLibrary::symbol(const char* name) const {
  return ::dlsym(handle_, name);
}

std::string SharedLibrary::path_of(const void* symbol_in_it) const {
  Dl_info info{};
  if (::dladdr(symbol_in_it, &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

}  // namespace collwatch::nccl_probe
