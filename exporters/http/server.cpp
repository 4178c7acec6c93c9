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

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "exporters/http/connection_table.h"
#include "exporters/http/listener.h"
#include "exporters/http/posted_log.h"
#include "exporters/signals_blocked.h"

namespace collwatch::exporters {
namespace {

constexpr unsigned kConnectionLimit = 512;
constexpr unsigned kIdleSeconds = 10;
constexpr std::size_t kBytesPerConnection = 8192;
constexpr std::string_view kDiagnosePath = "/api/v1/diagnose";

/// What a request that needs no state of its own carries between its two calls.
char head_seen;

using Posted = std::shared_ptr<PostedLog>;

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

Reply method_not_allowed(const char* allowed) {
  Reply reply = error_reply(405, std::string("only ") + allowed + " is served here");
  reply.allow = allowed;
  return reply;
}

bool is_loopback(const std::string& address) {
  return address.rfind("127.", 0) == 0 || address == "::1" || address.rfind("::ffff:127.", 0) == 0;
}

/// What the head of the request says of its body's size; 0 where it does not.
unsigned long long announced_bytes(MHD_Connection* connection) {
  const char* text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(Callbacks callbacks)
      : diagnose_(std::move(callbacks.diagnose)), pages_(std::move(callbacks)) {}
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Takes the listener over. False, with errno: the library could not start.
  bool start(const Listener& listener);
  std::uint16_t port() const { return port_; }

 private:
  static MHD_Result send(MHD_Connection* connection, const Reply& reply);
  Reply reply_to(std::string_view method, std::string_view path);
  /// Why this client's log is not taken, from the request's head.
  std::optional<Reply> refusal(MHD_Connection* connection) const;
  MHD_Result on_post(MHD_Connection* connection, const char* bytes, std::size_t* count,
                     void** request);
  MHD_Result begin_post(MHD_Connection* connection, void** request);
  MHD_Result end_post(MHD_Connection* connection, const Posted& log);
  void note_connection(MHD_Connection* connection, MHD_ConnectionNotificationCode what);

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url,
                               const char* method, const char* version, const char* upload,
                               std::size_t* upload_size, void** request);
  static void on_connection(void* self, MHD_Connection* connection, void** context,
                            MHD_ConnectionNotificationCode what);
  static void on_completed(void* self, MHD_Connection* connection, void** request,
                           MHD_RequestTerminationCode how);

  const DiagnosePort diagnose_;
  Pages pages_;
  ConnectionTable connections_;
  std::mutex posted_mutex_;
  std::set<Posted> posted_;  ///< on their way, in or out
  std::atomic<bool> stopping_{false};
  MHD_Daemon* daemon_ = nullptr;
  std::uint16_t port_ = 0;
};

bool HttpServer::Impl::start(const Listener& listener) {
  port_ = listener.port;
  const SignalsBlocked blocked;
  daemon_ =
      MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr,
                       nullptr, &Impl::on_request, this, MHD_OPTION_LISTEN_SOCKET, listener.fd,
                       MHD_OPTION_CONNECTION_LIMIT, kConnectionLimit, MHD_OPTION_CONNECTION_TIMEOUT,
                       kIdleSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kBytesPerConnection,
                       MHD_OPTION_NOTIFY_CONNECTION, &Impl::on_connection, this,
                       MHD_OPTION_NOTIFY_COMPLETED, &Impl::on_completed, this, MHD_OPTION_END);
  return daemon_ != nullptr;
}

/// Nobody may wait in the library when it stops.
HttpServer::Impl::~Impl() {
  if (daemon_ == nullptr) return;
  stopping_ = true;
  std::set<Posted> waiting;
  {
    const std::lock_guard lock(posted_mutex_);
    waiting = posted_;
  }
  for (const Posted& log : waiting) log->answer(error_reply(503, "the agent is stopping"));
  MHD_stop_daemon(daemon_);
}

Reply HttpServer::Impl::reply_to(std::string_view method, std::string_view path) {
  if (path == kDiagnosePath && diagnose_.run) return method_not_allowed("POST");
  const bool allowed = method == "GET" || method == "HEAD";
  return allowed ? pages_.get(path) : method_not_allowed("GET, HEAD");
}

MHD_Result HttpServer::Impl::send(MHD_Connection* connection, const Reply& reply) {
  MHD_Response* response = response_of(reply.body);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", reply.content_type);
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "Content-Security-Policy", "default-src 'none'");
  if (reply.allow != nullptr) MHD_add_response_header(response, "Allow", reply.allow);
  const MHD_Result queued = MHD_queue_response(connection, reply.status, response);
  MHD_destroy_response(response);  // ours; the connection holds its own
  return queued;
}

std::optional<Reply> HttpServer::Impl::refusal(MHD_Connection* connection) const {
  if (!diagnose_.refusal.empty()) return error_reply(403, diagnose_.refusal);
  if (!is_loopback(address_of(connection))) {
    return error_reply(403,
                       "logs are taken from clients on loopback only: others would have to be told "
                       "apart by http.auth_file, which this version does not have");
  }
  // A page in somebody's browser reaches loopback, too.
  if (MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin") != nullptr)
    return error_reply(403, "logs are not taken from web pages");
  if (announced_bytes(connection) > diagnose_.most_bytes) {
    return error_reply(413, "the log is larger than " + std::to_string(diagnose_.most_bytes) +
                                " bytes: run collwatch diagnose on it");
  }
  if (static_cast<int>(posted_.size()) >= diagnose_.at_once)
    return error_reply(503, "other logs are being diagnosed: come again in a few seconds");
  return std::nullopt;
}

MHD_Result HttpServer::Impl::begin_post(MHD_Connection* connection, void** request) {
  if (const auto refused = refusal(connection)) return send(connection, *refused);
  Posted log = PostedLog::create(diagnose_.most_bytes);
  if (log == nullptr) return send(connection, error_reply(503, "no memory for the log"));
  *request = new Posted(log);
  const std::lock_guard lock(posted_mutex_);
  posted_.insert(std::move(log));
  return MHD_YES;
}

/// The whole body is here: hand it over, and let the connection sleep.
MHD_Result HttpServer::Impl::end_post(MHD_Connection* connection, const Posted& log) {
  if (log->is_too_large()) {
    return send(connection,
                error_reply(413, "the log is larger than " + std::to_string(diagnose_.most_bytes) +
                                     " bytes: run collwatch diagnose on it"));
  }
  if (log->is_lost()) return send(connection, error_reply(503, "no memory for the log"));
  if (log->size() == 0) return send(connection, error_reply(400, "post the text of a log"));
  MHD_suspend_connection(connection);
  try {
    diagnose_.run(log->take(), [log](Reply reply) { log->answer(std::move(reply)); });
  } catch (...) {  // out of memory or threads
    log->answer(error_reply(503, "no room for a diagnosis: come again in a few seconds"));
  }
  log->wait([connection] { MHD_resume_connection(connection); });
  if (stopping_) log->answer(error_reply(503, "the agent is stopping"));
  return MHD_YES;
}

/// Called after the head, for each piece of the body, after the last one, and once more when the
/// connection was woken.
MHD_Result HttpServer::Impl::on_post(MHD_Connection* connection, const char* bytes,
                                     std::size_t* count, void** request) {
  if (*request == nullptr) return begin_post(connection, request);
  const Posted log = *static_cast<Posted*>(*request);
  if (*count > 0) {
    log->append(bytes, *count);
    *count = 0;
    return MHD_YES;
  }
  if (const auto reply = log->reply()) return send(connection, *reply);
  return end_post(connection, log);
}

MHD_Result HttpServer::Impl::on_request(void* self, MHD_Connection* connection, const char* url,
                                        const char* method, const char* /*version*/,
                                        const char* upload, std::size_t* upload_size,
                                        void** request) {
  try {
    auto& impl = *static_cast<Impl*>(self);
    if (impl.diagnose_.run && url == kDiagnosePath && std::string_view(method) == "POST")
      return impl.on_post(connection, upload, upload_size, request);
    // The first call is after the head. Answering in it ends the connection, which is right for
    // what may carry a body; a GET is answered in the second call and the connection lives on.
    const bool bodyless = std::string_view(method) == "GET" || std::string_view(method) == "HEAD";
    if (bodyless && *request == nullptr) {
      *request = &head_seen;
      return MHD_YES;
    }
    return send(connection, impl.reply_to(method, url));
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

void HttpServer::Impl::on_completed(void* self, MHD_Connection* connection, void** request,
                                    MHD_RequestTerminationCode /*how*/) {
  auto& impl = *static_cast<Impl*>(self);
  impl.connections_.served(socket_of(connection), std::chrono::steady_clock::now());
  if (*request == nullptr || *request == &head_seen) return;
  const auto* const log = static_cast<Posted*>(*request);
  {
    const std::lock_guard lock(impl.posted_mutex_);
    impl.posted_.erase(*log);
  }
  delete log;
  *request = nullptr;
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
