// SPDX-License-Identifier: Apache-2.0
//
// `diagnose --agent` and POST /api/v1/diagnose against real agents on loopback: a clean network is
// ruled out, and when an agent is killed its node is the culprit.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/demo/lab.h"
#include "tests/integration/cli/program.h"
#include "tests/support/catch.h"
#include "tests/unit/http/client.h"

using namespace collwatch;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

/// What the job of this test says: every rank waited.
std::string log_file() {
  const std::string path =
      (fs::temp_directory_path() / ("collwatch-real-" + std::to_string(getpid()) + ".log"))
          .string();
  std::ofstream(path)
      << "[rank0]: RuntimeError: [../gloo/transport/tcp/unbound_buffer.cc:81] Timed "
         "out waiting 10000ms for recv operation to complete\n";
  return path;
}

/// The diagnosis once the agent's word bears on it like that, or the last one.
json diagnosed(const std::string& url, const std::string& log, const std::string& relation) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (;;) {
    const auto ran = test::run_collwatch({"diagnose", "--format", "json", "--agent", url, log});
    REQUIRE(ran.code == 1);
    json diagnosis = json::parse(ran.out);
    const bool is_it = diagnosis["agent"]["relation"] == relation;
    if (is_it || std::chrono::steady_clock::now() > deadline) return diagnosis;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

}  // namespace

TEST_CASE("real agents: a clean network is ruled out, a killed node is named, a log is read") {
  if (access(COLLWATCH_BINARY_DIR "/collwatch-probe-gloo", X_OK) != 0) {
    std::cout << "SKIPPED: the Gloo worker was not built\n";
    return;
  }
  demo::LabOptions options;
  options.nodes = 3;
  options.loopback = true;
  options.base_port = 27781;
  options.bin_dir = COLLWATCH_BINARY_DIR;
  auto lab = demo::Lab::create(options);
  REQUIRE(lab);
  for (int node = 0; node < 3; ++node) REQUIRE((*lab)->start(node));
  const std::string url =
      "http://127.0.0.1:" + std::to_string((*lab)->agent(0).place().status_port);
  const std::string log = log_file();

  const json clean = diagnosed(url, log, "clean");
  INFO(clean["agent"].dump());
  REQUIRE(clean["agent"]["relation"] == "clean");
  CHECK(clean["agent"]["clean_rounds"] >= 10);

  test::Connection connection((*lab)->agent(0).place().status_port);
  const std::string body = "[rank3]: Traceback (most recent call last):\n[rank3]: ValueError: no\n";
  REQUIRE(connection.send("POST /api/v1/diagnose HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body));
  const auto posted = test::parse(connection.read_response());
  CHECK(posted.status == 200);
  CHECK(json::parse(posted.body)["verdict"]["initiating"]["rank"] == 3);

  (*lab)->agent(2).kill();
  const json culprit = diagnosed(url, log, "culprit");
  INFO(culprit["agent"].dump());
  REQUIRE(culprit["agent"]["relation"] == "culprit");
  CHECK(culprit["agent"]["verdicts"][0]["entity"] == "n2");
  CHECK(culprit["verdict"]["initiating"]["host"] == "n2");
  CHECK(culprit["verdict"]["next_action"].get<std::string>().find("Repair node n2 first") == 0);
  fs::remove(log);
}
