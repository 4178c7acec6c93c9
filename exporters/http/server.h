// SPDX-License-Identifier: Apache-2.0
//
// The agent's HTTP port: /metrics, /healthz, /readyz, /api/v1/... One thread of its own serves all
// connections and only reads immutable Snapshots, so no client, however slow or hostile, reaches
// the event loop. libmicrohttpd is known to server.cpp and connection.cpp alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exporters/http/pages.h"
#include "probes/model/result.h"

namespace collwatch::exporters {

class HttpServer {
 public:
  using Callbacks = HttpCallbacks;

  /// Listens on `host` (see listen_on) and `port` (0: any, see port()) and serves until destroyed.
  static model::Result<std::unique_ptr<HttpServer>> create(const std::string& host,
                                                           std::uint16_t port, Callbacks callbacks);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  /// From now on these, from any thread; none: everybody.
  void set_users(std::vector<HttpUser> users);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace collwatch::exporters
