// SPDX-License-Identifier: Apache-2.0
//
// A fresh transfer per call: an agent may be restarted between two calls, and a kept connection
// would tell of the old one. Only the socket's birth happens inside the namespace; a socket stays
// in the namespace it was born in.
#include "daemon/http_client/http_client.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>

namespace collwatch::http_client {
namespace {

struct Transfer {
  HttpReply reply;
  bool too_large = false;
  std::string netns;     ///< path, or empty
  model::Error opening;  ///< why no socket could be made
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  const std::size_t bytes = size * count;
  if (transfer.reply.body.size() + bytes > kMaxReplyBytes) {
    transfer.too_large = true;
    return 0;
  }
  transfer.reply.body.append(data, bytes);
  return bytes;
}

curl_socket_t open_here(const curl_sockaddr* address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/// Enters the namespace, makes the socket and comes back. A thread that could not come back would
/// go on in the wrong network, so that is the one failure that cannot be an Error.
curl_socket_t open_in_namespace(Transfer& transfer, const curl_sockaddr* address) {
  const int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  const int other = own < 0 ? -1 : open(transfer.netns.c_str(), O_RDONLY | O_CLOEXEC);
  curl_socket_t made = CURL_SOCKET_BAD;
  if (other < 0 || setns(other, CLONE_NEWNET) != 0) {
    const int why = errno;
    transfer.opening = model::from_errno("network namespace " + transfer.netns, why);
  } else {
    made = open_here(address);
    if (made < 0) transfer.opening = model::from_errno("socket", errno);
    const bool returned = setns(own, CLONE_NEWNET) == 0;
    COLLWATCH_ASSERT(returned);
  }
  if (other >= 0) close(other);
  if (own >= 0) close(own);
  return made;
}

curl_socket_t open_socket(void* context, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(context);
  return transfer.netns.empty() ? open_here(address) : open_in_namespace(transfer, address);
}

std::string namespace_path(const std::string& netns) {
  if (netns.empty() || netns.find('/') != std::string::npos) return netns;
  return "/run/netns/" + netns;
}

void configure(CURL* curl, const std::string& url, std::chrono::milliseconds timeout,
               Transfer& transfer, char* error_text) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "collwatch/" COLLWATCH_VERSION);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error_text);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &transfer);
}

model::ErrorCode code_of(CURLcode status) {
  switch (status) {
    case CURLE_OPERATION_TIMEDOUT:
      return model::ErrorCode::timeout;
    case CURLE_COULDNT_RESOLVE_HOST:
      return model::ErrorCode::not_found;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return model::ErrorCode::invalid_argument;
    default:
      return model::ErrorCode::io;
  }
}

}  // namespace

model::Result<HttpReply> http_get(const std::string& url, std::chrono::milliseconds timeout,
                                  const std::string& netns, const std::string& login) {
  static std::once_flag initialised;
  std::call_once(initialised, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  if (!curl) return model::fail(model::ErrorCode::limit, "no memory for an HTTP request");

  Transfer transfer;
  transfer.netns = namespace_path(netns);
  char error_text[CURL_ERROR_SIZE] = "";
  configure(curl.get(), url, timeout, transfer, error_text);
  if (!login.empty()) {
    curl_easy_setopt(curl.get(), CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl.get(), CURLOPT_USERPWD, login.c_str());
  }
  const CURLcode status = curl_easy_perform(curl.get());
  if (transfer.too_large) {
    return model::fail(model::ErrorCode::limit, url + ": reply larger than 16 MiB");
  }
  if (!transfer.opening.text.empty()) return model::fail(transfer.opening);
  if (status != CURLE_OK) {
    long sys_errno = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_OS_ERRNO, &sys_errno);
    if (status == CURLE_COULDNT_CONNECT && sys_errno != 0) {
      return model::fail(model::from_errno(url, static_cast<int>(sys_errno)));
    }
    const std::string why = error_text[0] != '\0' ? error_text : curl_easy_strerror(status);
    return model::fail({code_of(status), url + ": " + why, static_cast<int>(sys_errno)});
  }
  long http_status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &http_status);
  transfer.reply.status = static_cast<int>(http_status);
  return std::move(transfer.reply);
}

}  // namespace collwatch::http_client
