// SPDX-License-Identifier: Apache-2.0
//
// `status` and `check`: the two that ask an agent.
#include <iostream>

#include "daemon/cli/agent_url.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/status_text.h"
#include "daemon/cli/terminal.h"

namespace collwatch::cli {
namespace {

constexpr const char* kStatusPath = "/api/v1/status";

}  // namespace

int run_status(const StatusOptions& options) {
  if (const std::string why = why_refused(options.url); !why.empty()) {
    complain(why);
    return kUsageError;
  }
  const std::string url = agent_url(options.url);
  const auto body = ask_agent(url, kStatusPath);
  if (!body) {
    complain(body.error().text + "\nIs collwatchd running there? --url names another agent.");
    return kAgentUnreachable;
  }
  const auto status = parse_status(*body);
  if (!status) {
    complain(url + ": " + status.error().text);
    return kAgentUnreachable;
  }
  if (options.json) {
    std::cout << *body << "\n";
  } else {
    std::cout << status_text(*status, std::chrono::system_clock::now(), colour_of_stdout());
  }
  return 0;
}

int run_check(const CheckOptions& options) {
  if (const std::string why = why_refused(options.url); !why.empty()) {
    complain(why);
    const auto refused = check(model::fail(model::ErrorCode::invalid_argument, "URL with an @"),
                               std::chrono::system_clock::now());
    std::cout << refused.line << "\n";
    return exit_code(refused.health, options.style);
  }
  const std::string url = agent_url(options.url);
  model::Result<StatusReply> status = StatusReply{};
  const auto body = ask_agent(url, kStatusPath);
  status = body ? parse_status(*body) : model::Result<StatusReply>(model::fail(body.error()));
  // An agent whose loop is stuck still serves its last snapshot; /healthz is how it says so.
  if (status) {
    const auto health = ask_agent(url, "/healthz");
    if (!health) status = model::fail(model::ErrorCode::timeout, "the agent's loop is stuck");
  }
  const CheckResult result = check(status, std::chrono::system_clock::now());
  std::cout << result.line << "\n";
  return exit_code(result.health, options.style);
}

}  // namespace collwatch::cli
