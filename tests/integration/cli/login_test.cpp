// SPDX-License-Identifier: Apache-2.0
//
// The CLI before an agent that asks for a password, and the daemon's own file of fingerprints in
// `config check`.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "exporters/http/server.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/integration/cli/program.h"
#include "tests/support/catch.h"

using namespace collwatch;
using test::run_collwatch;

namespace {

/// A folder of its own for the files of one test.
struct Folder {
  Folder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~Folder() {
    for (const char* name : {"login", "own.yaml", "collwatch.yaml"})
      unlink((path + "/" + name).c_str());
    rmdir(path.c_str());
  }
  std::string put(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path + "/" + name) << text;
    chmod((path + "/" + name).c_str(), mode);
    return path + "/" + name;
  }
  std::string path = "/tmp/collwatch-login-XXXXXX";
};

/// ann's password is "secret".
struct Guarded {
  Guarded() {
    auto snapshot = std::make_shared<const exporters::Snapshot>(test::sample_snapshot());
    exporters::HttpServer::Callbacks callbacks;
    callbacks.snapshot = [snapshot] { return snapshot; };
    callbacks.seconds_since_turn = [] { return 0.0; };
    callbacks.users = {{"ann",
                        "$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5kn"
                        "V8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1"}};
    auto made = exporters::HttpServer::create("127.0.0.1", 0, std::move(callbacks));
    REQUIRE(made);
    server = std::move(*made);
    url = "http://127.0.0.1:" + std::to_string(server->port());
  }
  std::unique_ptr<exporters::HttpServer> server;
  std::string url;
};

}  // namespace

TEST_CASE("an agent that asks for a password gets the one in the file, which is never shown") {
  const Guarded agent;
  const Folder folder;
  const auto status = [&](const std::string& login) {
    return run_collwatch({"status", "--url", agent.url},
                         login.empty()
                             ? std::map<std::string, std::string>{}
                             : std::map<std::string, std::string>{{"COLLWATCH_LOGIN_FILE", login}});
  };
  const auto without = status("");
  CHECK(without.code == 3);
  CHECK(without.err.find("COLLWATCH_LOGIN_FILE") != std::string::npos);

  const auto right = status(folder.put("login", "ann:secret\n"));
  CHECK(right.code == 0);
  CHECK(right.out.find("node-c") != std::string::npos);

  const auto wrong = status(folder.put("login", "ann:hunter2\n"));
  CHECK(wrong.code == 3);
  CHECK(wrong.err.find("does not take the user and the password") != std::string::npos);
  CHECK(wrong.err.find("hunter2") == std::string::npos);

  CHECK(status(folder.put("login", "ann:secret\n", 0644)).err.find("chmod 0600") !=
        std::string::npos);
  const auto nonsense = status(folder.put("login", "hunter2\n"));
  CHECK(nonsense.err.find("not user:password") != std::string::npos);
  CHECK(nonsense.err.find("hunter2") == std::string::npos);
}

TEST_CASE("config check tries the daemon's own fingerprints") {
  const Folder folder;
  const std::string config = folder.put(
      "collwatch.yaml",
      "node: n1\npeers: {insecure: true}\nmembership: {static: [n1, n2]}\nwatch: {fingerprints: "
      "own.yaml}\n");
  CHECK(run_collwatch({"config", "check", config}).err.find("watch.fingerprints") !=
        std::string::npos);
  folder.put("own.yaml", "fingerprints:\n  - id: gloo_peer_last\n");
  const auto bad = run_collwatch({"config", "check", config});
  CHECK(bad.code == 2);
  CHECK(bad.err.find("own.yaml:2") != std::string::npos);
  folder.put(
      "own.yaml",
      "fingerprints:\n  - id: gloo_peer_lost\n    patterns:\n      - {id: ours, match: 'task "
      "vanished', role: initiating, examples: ['task vanished']}\n");
  const auto good = run_collwatch({"config", "check", config});
  CHECK(good.err.empty());
  CHECK(good.code == 0);
}
