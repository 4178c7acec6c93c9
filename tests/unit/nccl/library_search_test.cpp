// SPDX-License-Identifier: Apache-2.0
//
// Which libnccl is loaded, and whose code is never run.
#include "probes/nccl/library_search.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"

using namespace collwatch::nccl_probe;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// A folder that only this user may write to, below one that everybody may (with the sticky bit).
struct Folder {
  Folder() {
    char name[] = "/tmp/collwatch-search-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name, mode_t mode = 0644) const {
    const std::string full = path + "/" + name;
    std::ofstream(full) << "x";
    ::chmod(full.c_str(), mode);
    return full;
  }
  std::string path;
};

}  // namespace

TEST_CASE("a configured library is the only one that is tried") {
  LibraryWish wish;
  wish.configured = "/opt/nccl/libnccl.so.2";
  wish.job_library = "/usr/lib/libnccl.so.2";
  CHECK(choose_library(wish).names == std::vector<std::string>{"/opt/nccl/libnccl.so.2"});
}

TEST_CASE("auto is the job's own library first, then the system's") {
  const Folder folder;
  LibraryWish wish;
  wish.job_library = folder.file("libnccl.so.2");
  const LibraryChoice choice = choose_library(wish);
  CHECK(choice.names == std::vector<std::string>{wish.job_library, "libnccl.so.2", "libnccl.so"});
  CHECK(choice.note == "");
  CHECK(choose_library({}).names == std::vector<std::string>{"libnccl.so.2", "libnccl.so"});
}

TEST_CASE("a library that others could have written is not loaded") {
  const Folder folder;
  SECTION("the file") {
    CHECK_THAT(why_not_trusted(folder.file("a", 0666)), ContainsSubstring("others may write to"));
  }
  SECTION("its folder") {
    const std::string file = folder.file("b");
    ::chmod(folder.path.c_str(), 0777);
    CHECK_THAT(why_not_trusted(file), ContainsSubstring("others may write to"));
  }
  SECTION("behind a link") {
    const std::string file = folder.file("c", 0666);
    fs::create_symlink(file, folder.path + "/link");
    CHECK_THAT(why_not_trusted(folder.path + "/link"), ContainsSubstring("others may write to"));
  }
  SECTION("somebody else's") {
    const std::string file = folder.file("d");
    if (::chown(file.c_str(), 12345, 12345) != 0) {
      WARN("SKIPPED: only root can give files away");
      return;
    }
    CHECK_THAT(why_not_trusted(file), ContainsSubstring("belongs to user 12345"));
    LibraryWish wish;
    wish.job_library = file;
    const LibraryChoice choice = choose_library(wish);
    CHECK(choice.names.front() == "libnccl.so.2");
    CHECK_THAT(choice.note, ContainsSubstring("the job's libnccl is not loaded"));
  }
  SECTION("not there, or no path") {
    CHECK(why_not_trusted(folder.path + "/gone") != "");
    CHECK(why_not_trusted("libnccl.so.2") != "");
  }
}

TEST_CASE("a process of another mount namespace brings no library along") {
  const Folder folder;
  fs::create_directories(folder.path + "/77/ns");
  fs::create_directories(folder.path + "/self/ns");
  std::ofstream(folder.path + "/77/ns/mnt") << "";
  std::ofstream(folder.path + "/self/ns/mnt") << "";
  LibraryWish wish;
  wish.proc = folder.path;
  wish.job_pid = 77;
  wish.job_library = folder.file("libnccl.so.2");
  CHECK_THAT(choose_library(wish).note, ContainsSubstring("in a container"));
  CHECK(has_our_files("/proc", ::getpid()));
  CHECK(has_our_user("/proc", ::getpid()));
}

TEST_CASE("the library is found in a process' maps") {
  const Folder folder;
  fs::create_directories(folder.path + "/77");
  std::ofstream(folder.path + "/77/maps")
      << "7f00-7f01 r--p 00000000 fe:00 12 /usr/lib/libc.so.6\n"
         "7f02-7f03 r--p 00000000 fe:00 13 /opt/old/libnccl.so.2 (deleted)\n"
         "7f04-7f05 r-xp 00000000 fe:00 14 /opt/a b/nvidia/nccl/lib/libnccl.so.2\n";
  CHECK(mapped_libnccl(folder.path, 77) == "/opt/a b/nvidia/nccl/lib/libnccl.so.2");
  CHECK(mapped_libnccl(folder.path, 78) == "");
}
