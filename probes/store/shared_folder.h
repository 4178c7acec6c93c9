// SPDX-License-Identifier: Apache-2.0
//
// One look at a folder that members of a ring are to share: our own file is written anew, with a
// lock taken on it as torch's FileStore does, and those of others are read. System calls here may
// hang for as long as a file server is away, so they are made in a process that can be given up.
#pragma once

#include <string>
#include <vector>

#include "probes/wire/store_message.h"

namespace collwatch::store_probe {

struct Look {
  wire::StoreFolder folder;
  std::vector<wire::StoreMember> members;  ///< those of `others` that have a file that can be read
};

/// `path` is a folder; nothing but files named .collwatch-MEMBER is made or read there.
Look look_at(const std::string& path, const std::string& name,
             const std::vector<std::string>& others);

/// The name of the file system that `path` lies on, as mount(8) calls it; empty where that cannot
/// be known.
std::string filesystem_of(const std::string& path);

}  // namespace collwatch::store_probe
