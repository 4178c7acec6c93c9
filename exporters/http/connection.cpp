// SPDX-License-Identifier: Apache-2.0
//
// Headers in, headers out.
#include "exporters/http/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>

namespace collwatch::exporters {
namespace {

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

}  // namespace

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

bool is_loopback(const std::string& address) {
  return address.rfind("127.", 0) == 0 || address == "::1" || address.rfind("::ffff:127.", 0) == 0;
}

std::string header_of(MHD_Connection* connection, const char* name) {
  const char* text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return text == nullptr ? "" : text;
}

unsigned long long announced_bytes(MHD_Connection* connection) {
  const char* text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

MHD_Result send(MHD_Connection* connection, const Reply& reply) {
  MHD_Response* response = response_of(reply.body);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", reply.content_type);
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "Content-Security-Policy", "default-src 'none'");
  if (reply.allow != nullptr) MHD_add_response_header(response, "Allow", reply.allow);
  if (reply.challenge != nullptr)
    MHD_add_response_header(response, "WWW-Authenticate", reply.challenge);
  if (reply.come_again != nullptr)
    MHD_add_response_header(response, "Retry-After", reply.come_again);
  const MHD_Result queued = MHD_queue_response(connection, reply.status, response);
  MHD_destroy_response(response);  // ours; the connection holds its own
  return queued;
}

void send_and_end(MHD_Connection* connection, const std::string& status, const Reply& reply) {
  const int fd = socket_of(connection);
  const std::string bytes = "HTTP/1.1 " + status + "\r\nContent-Type: " + reply.content_type +
                            "\r\nContent-Length: " + std::to_string(reply.body->size()) +
                            "\r\nConnection: close\r\n\r\n" + *reply.body;
  (void)!::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(fd, SHUT_RDWR);  // the library sees the end and closes it on its next turn
}

}  // namespace collwatch::exporters
