// SPDX-License-Identifier: Apache-2.0
//
// Five seconds for an answer: longer than a busy agent needs, shorter than Nagios waits.
#include "daemon/cli/agent_url.h"

#include <chrono>

#include "daemon/http_client/http_client.h"

namespace collwatch::cli {
namespace {

constexpr std::chrono::milliseconds kPatience{5000};
constexpr const char* kScheme = "http://";

}  // namespace

std::string agent_url(const std::string& given) {
  if (given.find("://") != std::string::npos) {
    return given.substr(0, given.find_last_not_of('/') + 1);
  }
  const std::size_t after_address = given.rfind(']');
  const std::size_t colon = given.find(':', after_address == std::string::npos ? 0 : after_address);
  return kScheme + given + (colon == std::string::npos ? ":9781" : "");
}

std::string why_refused(const std::string& given) {
  if (given.find('@') == std::string::npos) return "";
  return "the agent's URL holds a user or a password (an @); it is not shown here. An agent asks "
         "for neither: give http://host:port";
}

model::Result<std::string> ask_agent(const std::string& url, const std::string& path) {
  auto reply = http_client::http_get(url + path, kPatience);
  if (!reply) {
    std::string why = reply.error().text;
    const std::string prefix = url + path + ": ";
    if (why.starts_with(prefix)) why = why.substr(prefix.size());
    return model::fail(
        {reply.error().code, "no agent answers at " + url + ": " + why, reply.error().sys_errno});
  }
  if (reply->status != 200) {
    return model::fail(model::ErrorCode::protocol, url + " answers " +
                                                       std::to_string(reply->status) + " to " +
                                                       path + ": not a collwatch agent?");
  }
  return std::move(reply->body);
}

}  // namespace collwatch::cli
