// SPDX-License-Identifier: Apache-2.0
//
// The library reads its file at every call, so a file that changes is a clock that is set.
#include "daemon/demo/wall_clock.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace collwatch::demo {
namespace {

using model::Result;
namespace fs = std::filesystem;

constexpr char kLibrary[] = "faketime/libfaketimeMT.so.1";  // the one for threads

}  // namespace

Result<std::string> find_faketime() {
  std::vector<fs::path> folders = {"/usr/lib", "/usr/lib64", "/usr/local/lib"};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib", ignored)) {
    if (entry.is_directory(ignored)) folders.push_back(entry.path());  // one per architecture
  }
  for (const fs::path& folder : folders) {
    const fs::path library = folder / kLibrary;
    if (access(library.c_str(), R_OK) == 0) return library.string();
  }
  return model::fail(model::ErrorCode::not_found,
                     "setting a clock needs libfaketime, which is not installed (Debian package "
                     "libfaketime)");
}

std::vector<std::string> faketime_environment(const std::string& library, const std::string& file) {
  return {"LD_PRELOAD=" + library, "FAKETIME_TIMESTAMP_FILE=" + file, "FAKETIME_NO_CACHE=1",
          "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1"};
}

Result<void> set_wall_clock(const std::string& file, std::chrono::milliseconds ahead) {
  char text[64];
  std::snprintf(text, sizeof text, "%+.3f\n", static_cast<double>(ahead.count()) / 1000);
  std::ofstream out(file + ".new");
  out << text;
  out.close();
  if (!out || rename((file + ".new").c_str(), file.c_str()) != 0) {
    return model::fail(model::ErrorCode::io, "cannot write " + file);
  }
  return {};
}

}  // namespace collwatch::demo
