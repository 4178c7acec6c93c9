// SPDX-License-Identifier: Apache-2.0
//
// Asking for dumps: one byte into the right pipe and nowhere else, and only a new file that is
// whole counts. Time is the test's.
#include "daemon/processes/dump_request.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/processes/proc_files.h"
#include "tests/support/catch.h"
#include "tests/unit/processes/fake_proc.h"

using namespace collwatch;
using namespace collwatch::processes;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr int kPid = 7;

/// A rank with a pipe, which the test reads as the rank would.
class AskedRank {
 public:
  AskedRank() {
    proc_.put({.pid = kPid});
    process_.pid = kPid;
    process_.identity.rank = 0;
    process_.flight.user = ::geteuid();
    process_.flight.dump_places = {at("/first_0"), at("/second_0")};
    process_.flight.pipe_place = at("/p_0.pipe");
    REQUIRE(mkfifo(pipe().c_str(), 0600) == 0);
  }
  ~AskedRank() { close_reader(); }
  Place at(const std::string& path) const {
    return {proc_.folder(kPid) / "root", path, root() + path};
  }
  std::string root() const { return (proc_.folder(kPid) / "root").string(); }
  std::string pipe() const { return root() + "/p_0.pipe"; }
  void open_reader() {
    reader_ = ::open(pipe().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(reader_ >= 0);
  }
  void close_reader() {
    if (reader_ >= 0) ::close(reader_);
    reader_ = -1;
  }
  /// What came through the pipe since the last call.
  long got() const {
    std::array<char, 64> room{};
    return static_cast<long>(::read(reader_, room.data(), room.size()));
  }
  void write(const std::string& path, const std::string& text) const {
    proc_.put_file(kPid, path, text);
  }
  Process& process() { return process_; }
  DumpRequest request() const { return DumpRequest({process_}); }

 private:
  test::FakeProc proc_;
  Process process_;
  int reader_ = -1;
};

constexpr TimePoint kStart{std::chrono::hours(1)};

}  // namespace

TEST_CASE(
    "one byte goes into the pipe, when asked, and a new whole file that rests is the answer") {
  AskedRank job;
  job.write("/first_0", "an older run's.");
  job.open_reader();
  DumpRequest request = job.request();
  CHECK(job.got() == 0);
  request.ask();
  request.ask();
  CHECK(job.got() == 1);
  CHECK_FALSE(request.look(kStart));
  CHECK_FALSE(request.look(kStart + 5s));  // the old one does not count
  job.write("/second_0", "half of");
  CHECK_FALSE(request.look(kStart + 6s));
  CHECK_FALSE(request.look(kStart + 9s));  // rests, but is not whole
  CHECK(request.answers()[0].problem.find("not written to its end") != std::string::npos);
  job.write("/second_0", "half of it.");
  CHECK_FALSE(request.look(kStart + 10s));
  CHECK_FALSE(request.look(kStart + 10s + 900ms));
  CHECK(request.look(kStart + 11s));
  REQUIRE(request.answers()[0].dump.has_value());
  CHECK(request.answers()[0].dump->path == "/second_0");
  CHECK(request.answers()[0].bytes == 11);
  CHECK(request.answers()[0].problem.empty());
}

TEST_CASE("an old file that is written anew counts") {
  AskedRank job;
  job.write("/first_0", "same size.");
  fs::last_write_time(job.root() + "/first_0", fs::file_time_type::clock::now() - 10min);
  job.open_reader();
  DumpRequest request = job.request();
  request.ask();
  job.write("/first_0", "Same size.");
  CHECK_FALSE(request.look(kStart));
  CHECK(request.look(kStart + 1s));
}

TEST_CASE("nobody is waited for who was not asked") {
  AskedRank job;
  const auto problem = [&] {
    DumpRequest request = job.request();
    request.ask();
    CHECK(request.look(kStart));
    CHECK_FALSE(request.answers()[0].is_asked);
    return request.answers()[0].problem;
  };
  CHECK(problem() == "nobody reads it");
  job.process().flight.pipe_problem = "it is no FIFO";
  CHECK(problem() == "it is no FIFO");
  job.process().flight.pipe_place.reset();
  CHECK(problem() == "no pipe is configured in its environment");
}

TEST_CASE("a dump that never comes stays a problem, a folder or another user's file is no dump") {
  AskedRank job;
  job.open_reader();
  DumpRequest request = job.request();
  request.ask();
  fs::create_directories(job.root() + "/first_0");
  CHECK_FALSE(request.look(kStart));
  CHECK_FALSE(request.look(kStart + 30s));
  CHECK(request.answers()[0].problem == "it was asked and wrote no new file");

  if (::geteuid() != 0) return;  // nobody else can give files away
  job.write("/second_0", "forged.");
  REQUIRE(::chown((job.root() + "/second_0").c_str(), 12345, 12345) == 0);
  CHECK_FALSE(request.look(kStart + 31s));
  CHECK_FALSE(request.look(kStart + 40s));
  CHECK(request.answers()[0].problem.find("belongs to another user") != std::string::npos);
}

TEST_CASE(
    "what became of the pipe since the look is seen: nothing is written to a file or a link") {
  AskedRank job;
  DumpRequest request = job.request();
  fs::rename(job.pipe(), job.pipe() + ".real");
  job.write("/p_0.pipe", "precious");
  request.ask();
  CHECK(request.answers()[0].problem == "it is no FIFO");
  CHECK(fs::file_size(job.pipe()) == 8);
  fs::remove(job.pipe());
  fs::create_symlink("p_0.pipe.real", job.pipe());
  DumpRequest linked = job.request();
  linked.ask();
  CHECK(linked.answers()[0].problem == "it is a symbolic link");
  fs::remove(job.pipe());
  fs::rename(job.pipe() + ".real", job.pipe());
  CHECK(put_byte_in_pipe(job.root(), "/p_0.pipe", ::geteuid() + 1).find("it belongs to user ") !=
        std::string::npos);
}

TEST_CASE("a pipe that nobody empties does not hold us") {
  AskedRank job;
  job.open_reader();
  std::string problem;
  for (int i = 0; i < (1 << 21) && problem.empty(); ++i) {
    problem = put_byte_in_pipe(job.root(), "/p_0.pipe", ::geteuid());
  }
  CHECK(problem == "it is full: nobody reads it");
}
