// SPDX-License-Identifier: Apache-2.0
//
// Names and permissions.
#include "probes/nccl/library_search.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace collwatch::nccl_probe {
namespace {

std::string in_proc(const std::string& proc, std::int64_t pid, const char* entry) {
  return proc + "/" + std::to_string(pid) + "/" + entry;
}

std::string trouble_of(const std::string& path, const struct stat& info) {
  const bool ours = info.st_uid == 0 || info.st_uid == ::geteuid();
  if (!ours) return path + " belongs to user " + std::to_string(info.st_uid);
  const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky) return "others may write to " + path;
  return "";
}

}  // namespace

std::string why_not_trusted(const std::string& path) {
  if (path.empty() || path.front() != '/') return "'" + path + "' is not an absolute path";
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path + " is not there";
  std::string place = resolved;
  ::free(resolved);
  // The file and every folder above it: whoever may rename one of them may replace the file.
  while (true) {
    struct stat info {};
    if (::stat(place.c_str(), &info) != 0) return place + " cannot be looked at";
    std::string trouble = trouble_of(place, info);
    if (!trouble.empty()) return trouble;
    if (place == "/") return "";
    const std::size_t slash = place.rfind('/');
    place = slash == 0 ? "/" : place.substr(0, slash);
  }
}

bool has_our_files(const std::string& proc, std::int64_t pid) {
  struct stat theirs {};
  struct stat ours {};
  return ::stat(in_proc(proc, pid, "ns/mnt").c_str(), &theirs) == 0 &&
         ::stat((proc + "/self/ns/mnt").c_str(), &ours) == 0 && theirs.st_ino == ours.st_ino &&
         theirs.st_dev == ours.st_dev;
}

bool has_our_user(const std::string& proc, std::int64_t pid) {
  struct stat info {};
  return ::stat((proc + "/" + std::to_string(pid)).c_str(), &info) == 0 &&
         info.st_uid == ::geteuid();
}

std::string mapped_libnccl(const std::string& proc, std::int64_t pid) {
  std::ifstream maps(in_proc(proc, pid, "maps"));
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos || line.find("/libnccl.so", path) == std::string::npos) continue;
    if (line.find(" (deleted)") == std::string::npos) return line.substr(path);
  }
  return "";
}

LibraryChoice choose_library(const LibraryWish& wish) {
  LibraryChoice choice;
  if (wish.configured != "auto") {
    choice.names = {wish.configured};
    return choice;
  }
  std::string of_job = wish.job_library;
  if (of_job.empty() && wish.job_pid > 0) of_job = mapped_libnccl(wish.proc, wish.job_pid);
  if (!of_job.empty()) {
    if (wish.job_pid > 0 && !has_our_files(wish.proc, wish.job_pid)) {
      choice.note = "the job's libnccl is in a container: not loaded";
    } else {
      choice.note = why_not_trusted(of_job);
      if (!choice.note.empty()) choice.note = "the job's libnccl is not loaded: " + choice.note;
    }
    if (choice.note.empty()) choice.names.push_back(of_job);
  }
  choice.names.insert(choice.names.end(), {"libnccl.so.2", "libnccl.so"});
  return choice;
}

}  // namespace collwatch::nccl_probe
