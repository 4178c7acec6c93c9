// SPDX-License-Identifier: Apache-2.0
//
// Five seconds for an answer: longer than a busy agent needs, shorter than Nagios waits.
#include "daemon/cli/agent_url.h"

#include <chrono>
#include <cstdlib>

#include "daemon/config/read_file.h"
#include "daemon/http_client/http_client.h"

namespace collwatch::cli {
namespace {

constexpr std::chrono::milliseconds kPatience{5000};
constexpr const char* kScheme = "http://";
constexpr std::size_t kLongestLogin = 1024;

/// "user:password", nothing where the environment names no file.
model::Result<std::string> own_login() {
  const char* const path = std::getenv("COLLWATCH_LOGIN_FILE");
  if (path == nullptr || *path == '\0') return std::string();
  auto file = config::read_file(path, kLongestLogin);
  if (!file) return model::fail(model::wrap(file.error(), "COLLWATCH_LOGIN_FILE"));
  if ((file->mode & 0006U) != 0) {
    return model::fail(model::ErrorCode::permission,
                       std::string("COLLWATCH_LOGIN_FILE: ") + path +
                           ": everybody on this host may read it; chmod 0600 it");
  }
  std::string login = file->bytes.substr(0, file->bytes.find_first_of("\r\n"));
  if (login.find(':') == std::string::npos) {
    return model::fail(model::ErrorCode::invalid_argument,
                       std::string("COLLWATCH_LOGIN_FILE: ") + path + ": not user:password");
  }
  return login;
}

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
  return "the agent's URL holds a user or a password (an @); it is not shown here. Give "
         "http://host:port, and where the agent asks for a password a file with user:password in "
         "COLLWATCH_LOGIN_FILE";
}

model::Result<std::string> ask_agent(const std::string& url, const std::string& path) {
  const auto login = own_login();
  if (!login) return model::fail(login.error());
  auto reply = http_client::http_get(url + path, kPatience, "", *login);
  if (!reply) {
    std::string why = reply.error().text;
    const std::string prefix = url + path + ": ";
    if (why.starts_with(prefix)) why = why.substr(prefix.size());
    return model::fail(
        {reply.error().code, "no agent answers at " + url + ": " + why, reply.error().sys_errno});
  }
  if (reply->status == 401) {
    return model::fail(model::ErrorCode::permission,
                       login->empty() ? url +
                                            " asks for a user and a password (http.auth_file): "
                                            "name a file with user:password in "
                                            "COLLWATCH_LOGIN_FILE"
                                      : url +
                                            " does not take the user and the password in the file "
                                            "of COLLWATCH_LOGIN_FILE");
  }
  if (reply->status != 200) {
    return model::fail(model::ErrorCode::protocol, url + " answers " +
                                                       std::to_string(reply->status) + " to " +
                                                       path + ": not a collwatch agent?");
  }
  return std::move(reply->body);
}

}  // namespace collwatch::cli
