// SPDX-License-Identifier: Apache-2.0
//
// POST /api/v1/diagnose from the socket to the real `collwatch diagnose` and back; and with
// programs in its place that hang, die or print nonsense.
#include "daemon/posted_logs/runner.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "exporters/http/server.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/unit/http/client.h"

using namespace collwatch;
using exporters::HttpServer;
using nlohmann::json;
using posted_logs::Runner;
using test::Connection;

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "collwatch-posted-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  /// A program in the place of collwatch.
  std::string script(const std::string& text) const {
    const std::string path = path_ / "collwatch";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = path_ / name;
    std::ofstream(path) << text;
    return path;
  }

 private:
  fs::path path_;
};

/// A runner behind a server.
struct Served {
  std::unique_ptr<Runner> runner;
  std::unique_ptr<HttpServer> server;

  explicit Served(const std::string& program,
                  std::chrono::milliseconds deadline = std::chrono::seconds(30)) {
    Runner::Options options;
    options.executable = program;
    options.deadline = deadline;
    runner = std::make_unique<Runner>(options);
    HttpServer::Callbacks callbacks;
    auto snapshot = std::make_shared<const exporters::Snapshot>(test::sample_snapshot());
    callbacks.snapshot = [snapshot] { return snapshot; };
    callbacks.seconds_since_turn = [] { return 0.0; };
    callbacks.diagnose.run = [this](int log, Runner::Answer answer) {
      runner->run(log, std::move(answer));
    };
    auto made = HttpServer::create("127.0.0.1", 0, std::move(callbacks));
    REQUIRE(made);
    server = std::move(*made);
  }

  /// Waits as long as a loaded machine may take.
  test::Answer post(const std::string& body) const {
    Connection connection(server->port());
    connection.send(
        "POST /api/v1/diagnose HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
    std::string response;
    for (int i = 0; i < 8 && response.empty(); ++i) {
      response = connection.read_to_end();
      if (response == "(deadline)") response.clear();
    }
    return test::parse(response);
  }
};

std::string error_of(const test::Answer& answer) {
  return json::parse(answer.body)["error"].get<std::string>();
}

std::string case_log(const std::string& name) {
  std::ifstream in(COLLWATCH_SOURCE_DIR "/tests/cases/diagnose/" + name, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

constexpr const char* kCollwatch = COLLWATCH_BINARY_DIR "/collwatch";

}  // namespace

TEST_CASE("a posted log is diagnosed as on the command line") {
  const Served served(kCollwatch);
  const auto answer = served.post(case_log("torchrun-oom-5/logs/job.log"));
  REQUIRE(answer.status == 200);
  const json diagnosis = json::parse(answer.body);
  CHECK(diagnosis["schema"] == 1);
  CHECK(diagnosis["verdict"]["fingerprint"] == "cuda_oom");
  CHECK(diagnosis["verdict"]["initiating"]["rank"] == 5);
  CHECK(diagnosis["findings"][0]["file"] == "-");
}

TEST_CASE("garbage, zeros and healthy text give no verdict, and no error") {
  const Served served(kCollwatch);
  std::string garbage;
  unsigned state = 7;
  for (int i = 0; i < 300000; ++i) {
    state = state * 1664525 + 1013904223;
    garbage += static_cast<char>(state >> 24);
  }
  for (const std::string& body :
       {garbage, std::string(100000, '\0'), std::string("step 1 loss 2.0\n"),
        std::string("\x1f\x8b broken"), std::string("\x28\xb5\x2f\xfd broken")}) {
    const auto answer = served.post(body);
    REQUIRE(answer.status == 200);
    const json said = json::parse(answer.body);
    CHECK(said["verdict"]["fingerprint"] == "none");
    const bool archive = body.ends_with("broken");
    CHECK(said["verdict"]["missing_evidence"].empty() == !archive);
  }
}

TEST_CASE("a child that dies, hangs or talks nonsense is an answer, and the next log is read") {
  const Folder folder;
  {
    const Served killed(folder.script("kill -KILL $$"));
    const auto answer = killed.post("log\n");
    CHECK(answer.status == 500);
    CHECK(error_of(answer) == "collwatch diagnose died of SIGKILL");
    CHECK(killed.post("log\n").status == 500);  // its place is free again
  }
  {
    const Served hanging(folder.script("sleep 600"), std::chrono::milliseconds(300));
    const auto answer = hanging.post("log\n");
    CHECK(answer.status == 504);
    CHECK(error_of(answer).find("takes longer than") != std::string::npos);
  }
  {
    const Served nonsense(folder.script("echo nonsense; exit 0"));
    CHECK(error_of(nonsense.post("log\n")) == "collwatch diagnose exited with code 0: nonsense");
  }
  {
    const Served endless(folder.script("yes '{'"));
    CHECK(endless.post("log\n").status == 500);
  }
  {
    const Served refusing(folder.script("echo 'collwatch: -: Is a directory' >&2; exit 2"));
    const auto answer = refusing.post("log\n");
    CHECK(answer.status == 400);
    CHECK(error_of(answer) == "collwatch: -: Is a directory");
  }
  const Served missing(folder.script("") + "-not-there");
  const auto answer = missing.post("log\n");
  CHECK(answer.status == 500);
  CHECK(error_of(answer).find("-not-there") != std::string::npos);
  CHECK(waitpid(-1, nullptr, WNOHANG) < 0);
}

TEST_CASE("a broken catalogue of the agent is the agent's fault, not the sender's") {
  const Folder folder;
  const Served served(kCollwatch);
  for (const std::string& file :
       {folder.file("broken.yaml", "fingerprints: [\n"), std::string("/nowhere/own.yaml")}) {
    CAPTURE(file);
    served.runner->use_fingerprints(file);
    const auto answer = served.post("step 1 loss 2.0\n");
    CHECK(answer.status == 500);
    CHECK(error_of(answer).find("watch.fingerprints of the agent: collwatch: " + file) == 0);
  }
  served.runner->use_fingerprints("");
  CHECK(served.post("step 1 loss 2.0\n").status == 200);
}

TEST_CASE("stopping does not wait for the deadline of what runs") {
  const Folder folder;
  auto served = std::make_unique<Served>(folder.script("sleep 600"), std::chrono::minutes(10));
  Connection connection(served->server->port());
  REQUIRE(connection.send(
      "POST /api/v1/diagnose HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nlog\n"));
  ::usleep(200000);  // most likely it runs by now; if not, it ends sooner still
  served->server.reset();
  served->runner.reset();
  CHECK(waitpid(-1, nullptr, WNOHANG) < 0);
}
