// SPDX-License-Identifier: Apache-2.0
//
// The cheap sources first: a file's name, a package's folder, and only then the bytes of the
// library.
#include "daemon/processes/versions.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "daemon/processes/proc_files.h"
#include "daemon/processes/proc_text.h"

namespace collwatch::processes {
namespace {

constexpr std::size_t kLargestLibrary = std::size_t{512} << 20;
constexpr std::size_t kMostEntries = 20'000;
constexpr std::size_t kMostCached = 64;
constexpr std::size_t kLongestVersion = 48;
constexpr std::string_view kVersionBytes =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-_";

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

/// What looks like a version and nothing else: the file may be anybody's.
std::string checked(const std::string& version) {
  const bool good = !version.empty() && version.size() <= kLongestVersion &&
                    version.find_first_not_of(kVersionBytes) == std::string::npos &&
                    version[0] >= '0' && version[0] <= '9';
  return good ? version : "";
}

/// "2.18.3" of "libnccl.so.2.18.3"; at least `parts` numbers.
std::string of_so_name(std::string_view path, int parts) {
  const std::size_t so = path.find(".so.");
  if (so == std::string_view::npos) return "";
  const std::string version(path.substr(so + 4));
  if (std::count(version.begin(), version.end(), '.') < parts - 1) return "";
  return version.find_first_not_of("0123456789.") == std::string::npos ? checked(version) : "";
}

/// "2.21.5" of the entry "nvidia_nccl_cu12-2.21.5.dist-info".
std::string of_package(const std::string& root, const std::string& folder,
                       std::string_view package) {
  for (const std::string& entry : entries_in_root(root, folder, kMostEntries)) {
    const std::size_t info = entry.rfind(".dist-info");
    const std::size_t dash = entry.find('-');
    if (info == std::string::npos || dash == std::string::npos || dash > info) continue;
    if (entry.compare(0, package.size(), package) != 0) continue;
    // "torch" must not find "torchvision", "nvidia_nccl_" goes on with the CUDA version.
    if (package.back() != '_' && dash != package.size()) continue;
    return checked(entry.substr(dash + 1, info - dash - 1));
  }
  return "";
}

std::string nccl_version(const std::string& root, const std::string& path,
                         std::map<std::string, std::string>& cache) {
  std::string version = of_so_name(path, 3);
  if (!version.empty()) return version;
  const std::string packages = folder_of(folder_of(folder_of(folder_of(path))));
  if (path.find("/nvidia/nccl/lib/") != std::string::npos) {
    version = of_package(root, packages, "nvidia_nccl_");
    if (!version.empty()) return version;
  }
  const auto file = FileInRoot::open(root, path);
  if (!file || file->size() > kLargestLibrary) return "";
  const std::string key = file->identity();
  const auto known = cache.find(key);
  if (known != cache.end()) return known->second;
  // "NCCL version 2.28.9+cuda13.0", of AMD's "RCCL version ..."; formats without a number exist
  // too.
  version = checked(file->after("CCL version ", "0123456789.", kLargestLibrary));
  while (!version.empty() && version.back() == '.') version.pop_back();
  if (cache.size() < kMostCached) cache[key] = version;
  return version;
}

void read_torch(Process& process, const std::string& root, const std::vector<std::string>& files) {
  std::string tried;
  for (const std::string& path : files) {
    const std::size_t part = path.find("/torch/");
    if (part == std::string::npos) continue;
    const std::string folder = path.substr(0, part) + "/torch";
    if (folder == tried) continue;
    tried = folder;
    if (const auto file = FileInRoot::open(root, folder + "/version.py")) {
      const std::string text = file->read(16384);
      process.torch = checked(python_string(text, "__version__"));
      process.cuda = checked(python_string(text, "cuda"));
    }
    if (process.torch.empty()) process.torch = of_package(root, folder_of(folder), "torch");
    if (!process.torch.empty()) return;
  }
  for (const std::string& path : files) {
    if (file_name(path).substr(0, 8) != "libtorch") continue;
    process.torch = of_so_name(path, 2);
    if (!process.torch.empty()) return;
  }
}

}  // namespace

std::vector<Library> libraries_among(const std::vector<std::string>& files) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames = {
      {{"libtorch_cpu.so", "torch"},
       {"libtorch_cuda.so", "torch_cuda"},
       {"libgloo.so", "gloo"},
       {"libnccl.so", "nccl"},
       {"librccl.so", "rccl"},
       {"libmpi.so", "mpi"}}};
  std::vector<Library> found;
  for (const std::string& path : files) {
    for (const auto& [start, name] : kNames) {
      if (file_name(path).substr(0, start.size()) != start) continue;
      found.push_back({std::string(name), path, ""});
    }
  }
  return found;
}

std::string python_string(const std::string& text, const std::string& name) {
  for (const std::string_view line : lines_of(text)) {
    if (line.substr(0, name.size()) != name) continue;
    const std::size_t equals = line.find('=', name.size());
    const std::size_t open = line.find_first_of("'\"", equals);
    if (equals == std::string_view::npos || open == std::string_view::npos) continue;
    // "cuda" is not "cuda_archs".
    const char next = line[name.size()];
    if (next != ' ' && next != ':' && next != '=') continue;
    const std::size_t close = line.find(line[open], open + 1);
    if (close == std::string_view::npos) continue;
    return std::string(line.substr(open + 1, close - open - 1));
  }
  return "";
}

void read_versions(Process& process, const std::string& root, const std::vector<std::string>& files,
                   std::map<std::string, std::string>& cache) {
  process.libraries = libraries_among(files);
  read_torch(process, root, files);
  for (Library& library : process.libraries) {
    const bool deleted = library.path.find(" (deleted)") != std::string::npos;
    if (library.name == "torch") library.version = process.torch;
    if (deleted || (library.name != "nccl" && library.name != "rccl")) continue;
    library.version = nccl_version(root, library.path, cache);
    if (process.nccl.empty()) process.nccl = library.version;
  }
}

}  // namespace collwatch::processes
