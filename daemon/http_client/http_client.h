// SPDX-License-Identifier: Apache-2.0
//
// One HTTP GET under a deadline, for the CLI (an agent's status) and the demo (agents in network
// namespaces of their own). The only place that knows the HTTP client library. May be called from
// several threads at once; blocks its caller for at most the timeout.
#pragma once

#include <chrono>
#include <string>

#include "probes/model/result.h"

namespace collwatch::http_client {

struct HttpReply {
  int status = 0;  ///< 200, 503, ...
  std::string body;
};

inline constexpr std::size_t kMaxReplyBytes = 16 << 20;

/// http only, no redirects, no proxy: what is asked is an agent on this host or in this cluster. A
/// reply of any status is a value; an Error means there was none ("Connection refused", "Timeout
/// ..."). With `netns` (a name under /run/netns, or a path), the connection is made inside that
/// network namespace; the calling thread is back in its own when the call returns. `login`:
/// "user:password" for an agent that asks (basic authentication); it is in no message.
model::Result<HttpReply> http_get(const std::string& url, std::chrono::milliseconds timeout,
                                  const std::string& netns = "", const std::string& login = "");

}  // namespace collwatch::http_client
