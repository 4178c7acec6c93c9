// SPDX-License-Identifier: Apache-2.0
//
// Lines of at most a kilobyte both ways, then a report without a terminator.
#include "daemon/ras/client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace collwatch::ras {
namespace {

constexpr std::size_t kLongestLine = 1024;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;

bool starts(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

}  // namespace

bool fill_address(const std::string& host, std::uint16_t port, Client::Options& options) {
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&options.address, &four, sizeof four);
    options.address_size = sizeof four;
  } else if (::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&options.address, &six, sizeof six);
    options.address_size = sizeof six;
  } else {
    return false;
  }
  return true;
}

void Client::start(base::TimePoint now) {
  step_ = Step::connect;
  due_ = now + options_.step;
  socket_ = supervise::UniqueFd(
      ::socket(options_.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) return end(Answer::lost, std::strerror(errno));
  const int begun = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&options_.address),
                              options_.address_size);
  if (begun == 0) return on_connected(now);
  if (errno != EINPROGRESS) end(Answer::no_listener, std::strerror(errno));
}

bool Client::advance(base::TimePoint now) {
  if (step_ == Step::connect) {
    pollfd ready{socket_.get(), POLLOUT, 0};
    if (::poll(&ready, 1, 0) > 0) {
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) {
        end(Answer::no_listener, std::strerror(error));
      } else {
        on_connected(now);
      }
    }
  }
  while (step_ == Step::hello || step_ == Step::format || step_ == Step::timeout) {
    if (!read_line(now)) break;
  }
  if (step_ == Step::report) read_report(now);
  if (step_ == Step::over || now < due_) return is_over();
  if (step_ == Step::report) {
    end_report("it did not end in time");
  } else {
    end(Answer::silent, step_ == Step::connect ? "the connection was not accepted in time"
                                               : "it accepted the connection and said nothing");
  }
  return true;
}

void Client::on_connected(base::TimePoint now) {
  say("CLIENT PROTOCOL 2", Step::hello, now);
}

void Client::say(const std::string& line, Step next, base::TimePoint now) {
  const std::string bytes = line + "\n";
  // A few bytes always fit into the buffer of a new connection.
  const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(bytes.size())) {
    return end(Answer::lost, std::strerror(errno));
  }
  step_ = next;
  due_ = now + options_.step;
}

/// One line, read by the byte: what is behind it may be the report. False where there is none yet.
bool Client::read_line(base::TimePoint now) {
  for (;;) {
    char byte = 0;
    const ssize_t size = ::recv(socket_.get(), &byte, 1, 0);
    if (size == 0) {
      end(Answer::lost, "it closed the connection at once");
      return false;
    }
    if (size < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) end(Answer::lost, std::strerror(errno));
      return false;
    }
    if (byte == '\n') break;
    if (line_.size() >= kLongestLine) {
      end(Answer::not_ras, "its first line has no end");
      return false;
    }
    line_ += byte;
  }
  std::string line = std::exchange(line_, "");
  if (!line.empty() && line.back() == '\r') line.pop_back();
  on_line(line, now);
  return true;
}

void Client::on_line(const std::string& line, base::TimePoint now) {
  if (step_ == Step::hello) {
    if (!starts(line, "SERVER PROTOCOL ")) {
      return end(Answer::not_ras, "it said '" + clean_name(line, 64) + "'");
    }
    if (options_.json) return say("SET FORMAT json", Step::format, now);
  } else if (!starts(line, "OK") && !starts(line, "ERROR")) {
    return end(Answer::not_ras, "it said '" + clean_name(line, 64) + "'");
  }
  // Of the format a refusal means text; the time may be refused, then it is the server's own.
  if (step_ == Step::timeout) return ask_for_status(now);
  say("TIMEOUT " + std::to_string(options_.collect_seconds), Step::timeout, now);
}

void Client::ask_for_status(base::TimePoint now) {
  reader_ = std::make_unique<Reader>();
  say("STATUS", Step::report, now);
  due_ = now + options_.whole_report;
}

void Client::read_report(base::TimePoint now) {
  std::array<char, 65536> bytes;
  for (std::size_t read = 0; read < kMostAtOnce && now < due_;) {
    const ssize_t size = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (size > 0) {
      reader_->add({bytes.data(), static_cast<std::size_t>(size)});
      read += static_cast<std::size_t>(size);
      continue;
    }
    if (size == 0) return end_report("");
    if (errno == EINTR) continue;
    if (errno != EAGAIN) end_report(std::string("the connection broke: ") + std::strerror(errno));
    return;
  }
}

void Client::end_report(const std::string& trouble) {
  report_ = reader_->finish();
  reader_.reset();
  if (!trouble.empty()) {
    report_.complete = false;
    report_.trouble = trouble;
  }
  end(Answer::report, report_.trouble);
}

void Client::end(Answer answer, const std::string& why) {
  socket_.reset();
  step_ = Step::over;
  answer_ = answer;
  why_ = why;
}

}  // namespace collwatch::ras
