// SPDX-License-Identifier: Apache-2.0
//
// Archives in, text out: told by their first bytes, several parts after one another, cut off,
// damaged, as small reads as a pipe may give them.
#include "daemon/logs/bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tests/support/compress.h"

using namespace collwatch;

namespace {

/// A pipe that gives a few bytes at a time.
class Drops : public logs::Bytes {
 public:
  Drops(std::string text, std::size_t at_once) : text_(std::move(text)), at_once_(at_once) {}

  model::Result<std::size_t> read(char* into, std::size_t room) override {
    const std::size_t count = std::min({room, at_once_, text_.size() - at_});
    text_.copy(into, count, at_);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t at_once_;
  std::size_t at_ = 0;
};

class Broken : public logs::Bytes {
 public:
  model::Result<std::size_t> read(char*, std::size_t) override {
    return model::fail(model::ErrorCode::io, "the disk is gone");
  }
};

std::string read_all(logs::Bytes& bytes, std::size_t room = 65536) {
  std::string out;
  std::string buffer(room, '\0');
  for (;;) {
    const auto got = bytes.read(buffer.data(), buffer.size());
    REQUIRE(got.has_value());
    if (*got == 0) return out;
    out.append(buffer, 0, *got);
  }
}

std::string decoded(const std::string& raw, std::size_t room = 65536) {
  auto bytes = logs::decoded(logs::bytes_of(raw));
  REQUIRE(bytes.has_value());
  return read_all(**bytes, room);
}

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "step " + std::to_string(i) + " loss " + std::to_string(i * 7919 % 1000) + "\n";
  return text;
}

}  // namespace

TEST_CASE("plain text comes out as it is, also less of it than a magic number has bytes") {
  for (const std::string text : {"", "x", "ab", "abc", "abcd", "a line\n", "\x1f", "\x28\xb5"}) {
    CHECK(decoded(text) == text);
  }
  CHECK(decoded(std::string("\0\0\0\0", 4)) == std::string("\0\0\0\0", 4));
}

TEST_CASE("gzip and zstd are told by their first bytes") {
  const std::string text = lines(20000);
  CHECK(decoded(test::gzipped(text)) == text);
  CHECK(decoded(test::zstd_compressed(text)) == text);
  CHECK(decoded(test::gzipped(text), 7) == text);
  CHECK(decoded(test::zstd_compressed(text), 7) == text);
  CHECK(decoded(test::gzipped("")).empty());
  CHECK(decoded(test::zstd_compressed("")).empty());
}

TEST_CASE("archives that were appended to each other are read to the end") {
  const std::string first = lines(3000);
  const std::string second = "and the error\n";
  CHECK(decoded(test::gzipped(first) + test::gzipped(second)) == first + second);
  CHECK(decoded(test::zstd_compressed(first) + test::zstd_compressed(second)) == first + second);
}

TEST_CASE("an archive that is cut off gives what is in it") {
  const std::string text = lines(20000);
  for (const std::string& whole : {test::gzipped(text), test::zstd_compressed(text)}) {
    for (const std::size_t left : {whole.size() - 1, whole.size() / 2, std::size_t{5}}) {
      const std::string part = decoded(whole.substr(0, left));
      CHECK(text.compare(0, part.size(), part) == 0);
      if (left * 2 >= whole.size()) CHECK(part.size() * 4 > text.size());
    }
  }
}

TEST_CASE("damage ends the text and nothing else, as do bytes behind an archive") {
  const std::string text = lines(20000);
  for (std::string whole : {test::gzipped(text), test::zstd_compressed(text)}) {
    CHECK(decoded(whole + std::string(512, '\0')) == text);
    whole[whole.size() / 2] = static_cast<char>(whole[whole.size() / 2] ^ 0x55);
    whole[whole.size() / 2 + 1] = static_cast<char>(whole[whole.size() / 2 + 1] ^ 0x55);
    decoded(whole);  // ends
  }
  CHECK(decoded(std::string("\x1f\x8b") + std::string(64, 'x')).empty());
  CHECK(decoded("\x28\xb5\x2f\xfd" + std::string(64, 'x')).empty());
}

TEST_CASE("an archive whose end is missing or damaged says so, a whole one does not") {
  const auto damage = [](const std::string& raw, std::size_t at_once) {
    auto bytes = logs::decoded(std::make_unique<Drops>(raw, at_once));
    REQUIRE(bytes.has_value());
    read_all(**bytes);
    return (*bytes)->damage();
  };
  const std::string text = lines(20000);
  for (const std::string& whole : {test::gzipped(text), test::zstd_compressed(text)}) {
    for (const std::size_t at_once : {std::size_t{1}, std::size_t{1} << 20}) {
      CHECK(damage(whole, at_once).empty());
      CHECK(damage(whole + whole, at_once).empty());
      CHECK(damage(whole + std::string(512, '\0'), at_once).empty());
      CHECK(damage(whole.substr(0, whole.size() / 2), at_once) == "the archive ends early");
      CHECK(damage(whole.substr(0, 5), at_once) == "the archive ends early");
      CHECK(damage(whole + whole.substr(0, 9), at_once) == "the archive ends early");
      CHECK(damage(whole + "rubbish rubbish", at_once).find("damaged") != std::string::npos);
      std::string hurt = whole;
      hurt.replace(hurt.size() / 2, hurt.size() / 4, hurt.size() / 4, 'x');
      CHECK_FALSE(damage(hurt, at_once).empty());
    }
  }
  CHECK(damage(text, 1000).empty());
}

TEST_CASE("a file that would keep the reader waiting cannot be read") {
  std::string folder = (std::filesystem::temp_directory_path() / "collwatch-bytes-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/like-kmsg";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const int silent = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(silent >= 0);
  logs::Source source;
  source.name = path;
  ::alarm(60);  // instead of for ever
  const auto bytes = logs::open_bytes(source);
  ::alarm(0);
  REQUIRE_FALSE(bytes.has_value());
  CHECK(bytes.error().text.find("like-kmsg: cannot be read") != std::string::npos);
  // Named on the command line it is a pipe like any other.
  const auto named = logs::find_sources({path});
  REQUIRE(named.has_value());
  CHECK(named->at(0).may_wait);
  REQUIRE(::write(silent, "text", 4) == 4);
  CHECK(logs::open_bytes(named->at(0)).has_value());
  ::close(silent);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a pipe that gives a byte at a time is the same log") {
  const std::string text = lines(200);
  for (const std::string& raw : {text, test::gzipped(text), test::zstd_compressed(text)}) {
    auto bytes = logs::decoded(std::make_unique<Drops>(raw, 1));
    REQUIRE(bytes.has_value());
    CHECK(read_all(**bytes) == text);
  }
}

TEST_CASE("an error of the source is an error, not the end of the log") {
  const auto failed = logs::decoded(std::make_unique<Broken>());
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().text == "the disk is gone");
}

TEST_CASE("a file is opened by name, one that is not there is named") {
  std::string folder = (std::filesystem::temp_directory_path() / "collwatch-bytes-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/rank0.log";
  std::ofstream(path, std::ios::binary) << test::gzipped("one\ntwo\n");
  logs::Source source;
  source.name = path;
  auto bytes = logs::open_bytes(source);
  REQUIRE(bytes.has_value());
  CHECK(read_all(**bytes) == "one\ntwo\n");
  source.name = folder + "/none.log";
  const auto missing = logs::open_bytes(source);
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().text.find("none.log") != std::string::npos);
  std::filesystem::remove_all(folder);
}
