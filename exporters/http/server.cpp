// SPDX-License-Identifier: Apache-2.0
//
// Between libmicrohttpd and pages: one internal thread over epoll, small buffers, deadlines, and
// no exception into C. Every callback here runs on that one thread.
#include "exporters/http/server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include "exporters/http/connection_table.h"
#include "exporters/http/listener.h"
#include "exporters/json/documents.h"
#include "exporters/signals_blocked.h"

namespace collwatch::exporters {
namespace {

constexpr unsigned kConnectionLimit = 512;
constexpr unsigned kIdleSeconds = 10;
constexpr std::size_t kBytesPerConnection = 8192;

int socket_of(MHD_Connection* connection) {
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == nullptr ? -1 : info->connect_fd;
}

std::string address_of(MHD_Connection* connection) {
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) return "";
  const sockaddr* address = info->client_addr;
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (address->sa_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  }
  char text[INET6_ADDRSTRLEN] = "";
  if (bytes != nullptr) ::inet_ntop(address->sa_family, bytes, text, sizeof text);
  return text;
}

/// The library sends straight from the page; the page lives until the last client has it.
MHD_Response* response_of(const std::shared_ptr<const std::string>& body) {
  using Body = std::shared_ptr<const std::string>;
  auto* kept = new Body(body);
  MHD_Response* response = MHD_create_response_from_buffer_with_free_callback_cls(
      body->size(), const_cast<char*>(body->data()),
      [](void* cls) { delete static_cast<Body*>(cls); }, kept);
  if (response == nullptr) delete kept;
  return response;
}

Reply method_not_allowed() {
  return {405, kJsonContentType,
          std::make_shared<const std::string>(error_json("only GET and HEAD are served here"))};
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(Callbacks callbacks) : pages_(std::move(callbacks)) {}
  ~Impl() {
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Takes the listener over. False, with errno: the library could not start.
  bool start(const Listener& listener);
  std::uint16_t port() const { return port_; }

 private:
  MHD_Result answer(MHD_Connection* connection, std::string_view method, std::string_view path);
  void note_connection(MHD_Connection* connection, MHD_ConnectionNotificationCode what);

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url,
                               const char* method, const char* version, const char* upload,
                               std::size_t* upload_size, void** request);
  static void on_connection(void* self, MHD_Connection* connection, void** context,
                            MHD_ConnectionNotificationCode what);
  static void on_completed(void* self, MHD_Connection* connection, void** request,
                           MHD_RequestTerminationCode how);

  Pages pages_;
  ConnectionTable connections_;
  MHD_Daemon* daemon_ = nullptr;
  std::uint16_t port_ = 0;
};

bool HttpServer::Impl::start(const Listener& listener) {
  port_ = listener.port;
  const SignalsBlocked blocked;
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, &Impl::on_request, this,
      MHD_OPTION_LISTEN_SOCKET, listener.fd, MHD_OPTION_CONNECTION_LIMIT, kConnectionLimit,
      MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kBytesPerConnection, MHD_OPTION_NOTIFY_CONNECTION, &Impl::on_connection, this,
      MHD_OPTION_NOTIFY_COMPLETED, &Impl::on_completed, this, MHD_OPTION_END);
  return daemon_ != nullptr;
}

MHD_Result HttpServer::Impl::answer(MHD_Connection* connection, std::string_view method,
                                    std::string_view path) {
  const bool allowed = method == "GET" || method == "HEAD";
  const Reply reply = allowed ? pages_.get(path) : method_not_allowed();
  MHD_Response* response = response_of(reply.body);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", reply.content_type);
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "Content-Security-Policy", "default-src 'none'");
  if (!allowed) MHD_add_response_header(response, "Allow", "GET, HEAD");
  const MHD_Result queued = MHD_queue_response(connection, reply.status, response);
  MHD_destroy_response(response);  // ours; the connection holds its own
  return queued;
}

MHD_Result HttpServer::Impl::on_request(void* self, MHD_Connection* connection, const char* url,
                                        const char* method, const char* /*version*/,
                                        const char* /*upload*/, std::size_t* /*upload_size*/,
                                        void** request) {
  try {
    // The first call is after the head. Answering in it ends the connection, which is right for
    // what may carry a body; a GET is answered in the second call and the connection lives on.
    static char head_seen;
    const bool bodyless = std::string_view(method) == "GET" || std::string_view(method) == "HEAD";
    if (bodyless && *request == nullptr) {
      *request = &head_seen;
      return MHD_YES;
    }
    return static_cast<Impl*>(self)->answer(connection, method, url);
  } catch (...) {  // out of memory: this connection ends, the server goes on
    return MHD_NO;
  }
}

void HttpServer::Impl::note_connection(MHD_Connection* connection,
                                       MHD_ConnectionNotificationCode what) {
  const int fd = socket_of(connection);
  if (fd < 0) return;
  if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
    connections_.closed(fd);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  for (const int victim : connections_.opened(fd, address_of(connection), now)) {
    ::shutdown(victim, SHUT_RDWR);  // the library sees the end and closes it on its next turn
  }
}

void HttpServer::Impl::on_connection(void* self, MHD_Connection* connection, void** /*context*/,
                                     MHD_ConnectionNotificationCode what) {
  try {
    static_cast<Impl*>(self)->note_connection(connection, what);
  } catch (...) {  // out of memory: an untracked connection still has the library's idle timeout
  }
}

void HttpServer::Impl::on_completed(void* self, MHD_Connection* connection, void** /*request*/,
                                    MHD_RequestTerminationCode /*how*/) {
  static_cast<Impl*>(self)->connections_.served(socket_of(connection),
                                                std::chrono::steady_clock::now());
}

model::Result<std::unique_ptr<HttpServer>> HttpServer::create(const std::string& host,
                                                              std::uint16_t port,
                                                              Callbacks callbacks) {
  auto listener = listen_on(host, port);
  if (!listener) return model::fail(std::move(listener).error());
  auto impl = std::make_unique<Impl>(std::move(callbacks));
  if (!impl->start(*listener)) {
    const int error = errno;
    ::close(listener->fd);
    return model::fail(model::from_errno("cannot start the HTTP server", error));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const {
  return impl_->port();
}

}  // namespace collwatch::exporters
