// SPDX-License-Identifier: Apache-2.0
//
// Between libmicrohttpd and pages: one internal thread over epoll, small buffers, deadlines, and
// no exception into C. Every callback here runs on that one thread.
#include "exporters/http/server.h"

#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "exporters/http/access.h"
#include "exporters/http/connection.h"
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

using Posted = std::shared_ptr<PostedLog>;

/// What a request carries between the library's calls.
struct Request {
  bool is_admitted = false;
  std::shared_ptr<Question> question;  ///< its password is being hashed
  bool was_woken = false;
  bool is_head_seen = false;
  Posted log;
  bool is_over = false;  ///< answered past the library
};

Reply method_not_allowed(const char* allowed) {
  Reply reply = error_reply(405, std::string("only ") + allowed + " is served here");
  reply.allow = allowed;
  return reply;
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
  void set_users(std::vector<HttpUser> users) { access_.set_users(std::move(users)); }

 private:
  /// Nothing: this request goes on, now or once its password is hashed (then it sleeps).
  std::optional<Reply> admit(MHD_Connection* connection, std::string_view path, Request& request);
  MHD_Result on_head_or_more(MHD_Connection* connection, const char* path, const char* method,
                             const char* upload, std::size_t* upload_size, Request& request);
  Reply reply_to(std::string_view method, std::string_view path);
  /// Why this client's log is not taken, from the request's head.
  std::optional<Reply> refusal(MHD_Connection* connection) const;
  MHD_Result on_post(MHD_Connection* connection, const char* bytes, std::size_t* count,
                     Request& request);
  MHD_Result begin_post(MHD_Connection* connection, Request& request);
  void end_slow_uploads(std::chrono::steady_clock::time_point now);
  void forget(const Posted& log);
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
  Access access_;
  ConnectionTable connections_;
  std::mutex posted_mutex_;
  std::set<Posted> posted_;                      ///< on their way, in or out
  std::map<MHD_Connection*, Request*> uploads_;  ///< those on their way in
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
  access_.stop();
  MHD_stop_daemon(daemon_);
}

Reply HttpServer::Impl::reply_to(std::string_view method, std::string_view path) {
  if (path == kDiagnosePath && diagnose_.run) return method_not_allowed("POST");
  const bool allowed = method == "GET" || method == "HEAD";
  return allowed ? pages_.get(path) : method_not_allowed("GET, HEAD");
}

std::optional<Reply> HttpServer::Impl::admit(MHD_Connection* connection, std::string_view path,
                                             Request& request) {
  Access::Asked asked;
  if (Pages::is_open(path)) {
    asked.admission = Admission::admitted;
  } else if (request.question) {
    asked.admission = request.question->answered().value_or(Admission::busy);
    request.question.reset();
    request.was_woken = true;
  } else {
    asked = access_.ask(header_of(connection, "Authorization"), address_of(connection));
  }
  if (asked.question) {
    request.question = asked.question;
    MHD_suspend_connection(connection);
    asked.question->wait([connection] { MHD_resume_connection(connection); });
    return std::nullopt;
  }
  request.is_admitted = asked.admission == Admission::admitted;
  if (request.is_admitted) return std::nullopt;
  if (asked.admission == Admission::busy) {
    Reply reply = error_reply(503, "other passwords are being checked: come again");
    reply.come_again = "1";
    return reply;
  }
  Reply reply = error_reply(401, "this port asks for a user and a password (http.auth_file)");
  reply.challenge = "Basic realm=\"collwatch\", charset=\"UTF-8\"";
  return reply;
}

std::optional<Reply> HttpServer::Impl::refusal(MHD_Connection* connection) const {
  if (!diagnose_.refusal.empty()) return error_reply(403, diagnose_.refusal);
  if (!is_loopback(address_of(connection)) && !access_.has_users()) {
    return error_reply(403,
                       "logs are taken from clients on loopback only, while there is no "
                       "http.auth_file to tell others apart by");
  }
  // A page in somebody's browser reaches loopback, too.
  if (!header_of(connection, "Origin").empty())
    return error_reply(403, "logs are not taken from web pages");
  if (announced_bytes(connection) > diagnose_.most_bytes) {
    return error_reply(413, "the log is larger than " + std::to_string(diagnose_.most_bytes) +
                                " bytes: run collwatch diagnose on it");
  }
  if (const std::string why = diagnose_.not_now ? diagnose_.not_now() : ""; !why.empty())
    return error_reply(503, why);
  if (static_cast<int>(posted_.size()) >= diagnose_.at_once)
    return error_reply(503, "other logs are being diagnosed: come again in a few seconds");
  return std::nullopt;
}

/// A place is for whoever sends. Looked at when anything comes in, which is when it matters.
void HttpServer::Impl::end_slow_uploads(std::chrono::steady_clock::time_point now) {
  for (auto it = uploads_.begin(); it != uploads_.end();) {
    const auto [connection, request] = *it;
    if (!request->log->is_too_slow(now, diagnose_.grace, diagnose_.least_bytes_per_second)) {
      ++it;
      continue;
    }
    send_and_end(
        connection, "408 Request Timeout",
        error_reply(408, "the log came slower than " +
                             std::to_string(diagnose_.least_bytes_per_second) + " bytes a second"));
    request->is_over = true;
    forget(request->log);
    it = uploads_.erase(it);
  }
}

void HttpServer::Impl::forget(const Posted& log) {
  const std::lock_guard lock(posted_mutex_);
  posted_.erase(log);
}

MHD_Result HttpServer::Impl::begin_post(MHD_Connection* connection, Request& request) {
  const auto now = std::chrono::steady_clock::now();
  end_slow_uploads(now);
  if (const auto refused = refusal(connection)) return send(connection, *refused);
  Posted log = PostedLog::create(diagnose_.most_bytes, now);
  if (log == nullptr) return send(connection, error_reply(503, "no memory for the log"));
  request.log = log;
  uploads_[connection] = &request;
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
                                     std::size_t* count, Request& request) {
  if (request.log == nullptr) return begin_post(connection, request);
  const Posted log = request.log;
  if (*count > 0) {
    log->append(bytes, *count);
    *count = 0;
    const auto now = std::chrono::steady_clock::now();
    end_slow_uploads(now);
    if (request.is_over) return MHD_NO;
    connections_.served(socket_of(connection), now);  // it keeps its pace
    return MHD_YES;
  }
  uploads_.erase(connection);
  if (const auto reply = log->reply()) return send(connection, *reply);
  return end_post(connection, log);
}

MHD_Result HttpServer::Impl::on_head_or_more(MHD_Connection* connection, const char* path,
                                             const char* method, const char* upload,
                                             std::size_t* upload_size, Request& request) {
  if (request.is_over) return MHD_NO;
  if (!request.is_admitted) {
    if (const auto refused = admit(connection, path, request)) return send(connection, *refused);
    if (!request.is_admitted) return MHD_YES;  // it sleeps
  }
  if (diagnose_.run && path == kDiagnosePath && std::string_view(method) == "POST")
    return on_post(connection, upload, upload_size, request);
  // The first call is after the head. Answering in it ends the connection, which is right for
  // what may carry a body; a GET is answered in the second call and the connection lives on.
  const bool bodyless = std::string_view(method) == "GET" || std::string_view(method) == "HEAD";
  if (bodyless && !request.was_woken && !std::exchange(request.is_head_seen, true)) return MHD_YES;
  return send(connection, reply_to(method, path));
}

MHD_Result HttpServer::Impl::on_request(void* self, MHD_Connection* connection, const char* url,
                                        const char* method, const char* /*version*/,
                                        const char* upload, std::size_t* upload_size,
                                        void** request) {
  try {
    if (*request == nullptr) *request = new Request;
    return static_cast<Impl*>(self)->on_head_or_more(connection, url, method, upload, upload_size,
                                                     *static_cast<Request*>(*request));
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
  impl.uploads_.erase(connection);
  const std::unique_ptr<Request> done(static_cast<Request*>(std::exchange(*request, nullptr)));
  if (done && done->log) impl.forget(done->log);
}

model::Result<std::unique_ptr<HttpServer>> HttpServer::create(const std::string& host,
                                                              std::uint16_t port,
                                                              Callbacks callbacks) {
  auto listener = listen_on(host, port);
  if (!listener) return model::fail(std::move(listener).error());
  std::vector<HttpUser> users = std::exchange(callbacks.users, {});
  auto impl = std::make_unique<Impl>(std::move(callbacks));
  impl->set_users(std::move(users));
  if (!impl->start(*listener)) {
    const int error = errno;
    ::close(listener->fd);
    return model::fail(model::from_errno("cannot start the HTTP server", error));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

void HttpServer::set_users(std::vector<HttpUser> users) {
  impl_->set_users(std::move(users));
}

std::uint16_t HttpServer::port() const {
  return impl_->port();
}

}  // namespace collwatch::exporters
