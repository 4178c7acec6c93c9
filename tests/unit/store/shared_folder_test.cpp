// SPDX-License-Identifier: Apache-2.0
//
// One look at a folder: whose files are there, and what may lie there instead.
#include "probes/store/shared_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.h"

using namespace collwatch;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~Folder() {
    ::chmod(path_.c_str(), 0700);
    fs::remove_all(path_);
  }
  const std::string& path() const { return path_; }
  std::string of(const std::string& member) const { return path_ + "/.collwatch-" + member; }
  void write(const std::string& member, const std::string& text) const {
    std::ofstream(of(member)) << text;
  }

 private:
  std::string path_ = (fs::temp_directory_path() / "collwatch-store-XXXXXX").string();
};

std::string file_of(const std::string& name, int sequence) {
  return R"({"type":"store_member","v":1,"name":")" + name + R"(","sequence":)" +
         std::to_string(sequence) + "}";
}

}  // namespace

TEST_CASE("members see each other's numbers grow, look by look") {
  const Folder folder;
  for (int look = 1; look <= 3; ++look) {
    const auto a = store_probe::look_at(folder.path(), "a", {"b"});
    CHECK(a.folder.error.empty());
    CHECK_FALSE(a.folder.filesystem.empty());
    REQUIRE(a.members.size() == (look == 1 ? 0U : 1U));
    if (look > 1) CHECK(a.members[0].sequence == look - 1);
    const auto b = store_probe::look_at(folder.path(), "b", {"a"});
    REQUIRE(b.members.size() == 1);
    CHECK(b.members[0].name == "a");
    CHECK(b.members[0].sequence == look);
  }
  CHECK_FALSE(fs::exists(folder.of("a") + ".new"));
}

TEST_CASE(
    "the number goes on where an earlier run ended, and what that run left half done is gone") {
  const Folder folder;
  folder.write("a", file_of("a", 41));
  folder.write("a.new", "half");
  CHECK(store_probe::look_at(folder.path(), "a", {}).folder.error.empty());
  const auto b = store_probe::look_at(folder.path(), "b", {"a"});
  REQUIRE(b.members.size() == 1);
  CHECK(b.members[0].sequence == 42);
}

TEST_CASE(
    "what is no file of a member is none: garbage, another's name, links, pipes, folders, too "
    "long") {
  const Folder folder;
  folder.write("garbage", "{\"type\":");
  folder.write("empty", "");
  folder.write("other", file_of("a", 1));
  folder.write("long", std::string(100000, ' ') + file_of("long", 1));
  folder.write("target", file_of("link", 1));
  fs::create_symlink(folder.of("target"), folder.of("link"));
  REQUIRE(::mkfifo(folder.of("pipe").c_str(), 0600) == 0);
  fs::create_directory(folder.of("folder"));
  folder.write("good", file_of("good", 7));
  const auto look = store_probe::look_at(
      folder.path(), "me",
      {"garbage", "empty", "other", "long", "link", "pipe", "folder", "nobody", "good"});
  REQUIRE(look.members.size() == 1);
  CHECK(look.members[0].name == "good");
}

TEST_CASE("a folder that cannot be written says why") {
  const Folder folder;
  CHECK_THAT(store_probe::look_at(folder.path() + "/none", "a", {}).folder.error,
             ContainsSubstring("No such file or directory"));
  folder.write("x", "");
  CHECK_THAT(store_probe::look_at(folder.of("x"), "a", {}).folder.error,
             ContainsSubstring("Not a directory"));
  fs::create_directory(folder.of("a"));  // rename cannot replace it
  fs::create_directory(folder.of("a") + "/full");
  CHECK_THAT(store_probe::look_at(folder.path(), "a", {}).folder.error,
             ContainsSubstring("cannot be renamed"));
  CHECK_FALSE(fs::exists(folder.of("a") + ".new"));
  CHECK(store_probe::look_at("/proc/self", "a", {}).folder.error != "");
}
