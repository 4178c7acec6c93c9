// SPDX-License-Identifier: Apache-2.0
//
// Symbols into pointers; the version text is read out of the file, in pieces and only as far as it
// stands.
#include "probes/nccl/nccl_library.h"

#include <cctype>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace collwatch::nccl_probe {
namespace {

constexpr std::string_view kVersionText = "NCCL version ";
constexpr std::string_view kCudaMark = "+cuda";
constexpr std::size_t kPiece = 1U << 20;
constexpr std::size_t kLongestText = 64;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

bool is_number(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

std::string number_at(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_number(text[length])) ++length;
  return std::string(text.substr(0, length));
}

/// "13.0" of a text that begins behind "NCCL version "; formats ("%d.%d") are no version.
std::string cuda_in(std::string_view text) {
  const std::string version = number_at(text);
  if (version.empty()) return "";
  text.remove_prefix(version.size());
  if (text.substr(0, kCudaMark.size()) != kCudaMark) return "";
  return number_at(text.substr(kCudaMark.size()));
}

bool bind_needed(NcclLibrary& into, const SharedLibrary& from) {
  return from.bind(into.get_version, "ncclGetVersion") &&
         from.bind(into.get_unique_id, "ncclGetUniqueId") &&
         from.bind(into.comm_init_rank, "ncclCommInitRank") &&
         from.bind(into.comm_destroy, "ncclCommDestroy") &&
         from.bind(into.comm_get_async_error, "ncclCommGetAsyncError") &&
         from.bind(into.get_error_string, "ncclGetErrorString") &&
         from.bind(into.group_start, "ncclGroupStart") &&
         from.bind(into.group_end, "ncclGroupEnd") && from.bind(into.all_reduce, "ncclAllReduce") &&
         from.bind(into.all_gather, "ncclAllGather") &&
         from.bind(into.reduce_scatter, "ncclReduceScatter") &&
         from.bind(into.broadcast, "ncclBroadcast") && from.bind(into.send, "ncclSend") &&
         from.bind(into.recv, "ncclRecv");
}

}  // namespace

std::string version_text(int version) {
  // Until 2.8 a place less was used for the minor version.
  const int unit = version < 10000 ? 1000 : 10000;
  return std::to_string(version / unit) + "." + std::to_string(version % unit / 100) + "." +
         std::to_string(version % 100);
}

std::string cuda_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string window;
  std::vector<char> piece(kPiece);
  for (std::size_t done = 0; file && done < kMostBytes; done += kPiece) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    window.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    std::size_t at = window.find(kVersionText);
    while (at != std::string::npos) {
      const std::string cuda =
          cuda_in(std::string_view(window).substr(at + kVersionText.size(), kLongestText));
      if (!cuda.empty()) return cuda;
      at = window.find(kVersionText, at + 1);
    }
    // A text may lie across two pieces.
    if (window.size() > 2 * kLongestText) window.erase(0, window.size() - 2 * kLongestText);
  }
  return "";
}

model::Result<NcclLibrary> NcclLibrary::load(const std::string& name) {
  auto opened = SharedLibrary::open(name);
  if (!opened) return model::fail(opened.error());
  NcclLibrary library;
  if (!bind_needed(library, *opened)) {
    return model::fail(model::ErrorCode::invalid_argument,
                       name + " is not libnccl, or an older one than 2.10: functions are missing");
  }
  opened->bind(library.get_last_error, "ncclGetLastError");
  opened->bind(library.comm_init_rank_config, "ncclCommInitRankConfig");
  opened->bind(library.comm_finalize, "ncclCommFinalize");
  library.path = opened->path_of(reinterpret_cast<const void*>(library.get_version));
  if (library.get_version(&library.version) != kNcclSuccess || library.version < kOldestNccl) {
    return model::fail(
        model::ErrorCode::invalid_argument,
        library.path + " is NCCL " + version_text(library.version) + "; 2.10 is the oldest known");
  }
  library.cuda = cuda_of_file(library.path);
  return library;
}

std::string NcclLibrary::words(NcclResult result) const {
  std::string text = get_error_string(result);
  // Process-wide and never cleared: in a process of one probe it is of this probe.
  const char* last = get_last_error != nullptr ? get_last_error(nullptr) : nullptr;
  if (last != nullptr && *last != '\0') text += ": " + std::string(last);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace collwatch::nccl_probe
