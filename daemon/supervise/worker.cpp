// SPDX-License-Identifier: Apache-2.0
//
// The machine behind Worker. It lives in a shared_ptr because a handler may destroy the Worker
// while the machine is on the stack: each loop callback holds it for its own duration, the Worker's
// destructor only marks it abandoned. The loop's callbacks hold it weakly.
#include "daemon/supervise/worker.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "daemon/supervise/environment.h"
#include "daemon/supervise/output_tail.h"
#include "daemon/supervise/process.h"
#include "daemon/supervise/unique_fd.h"
#include "probes/wire/channel.h"

namespace collwatch::supervise {
namespace {

using base::EventLoop;
using base::Millis;

// Bounds per turn of the loop, and for what may still be queued when the process is gone (more than
// the kernel's buffers hold, so that only an escaped grandchild that keeps writing is cut off).
constexpr int kPacketsPerTurn = 64;
constexpr int kPacketsAtExit = 1024;
constexpr std::size_t kOutputPerTurn = 64 * 1024;
constexpr std::size_t kOutputAtExit = 1024 * 1024;

constexpr Millis kReapRetry{50};
constexpr Millis kDestructorPatience{200};
constexpr Millis kOrphanRetry{1000};

struct OutputPipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

model::Result<OutputPipe> make_output_pipe() {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) return model::fail(model::from_errno("pipe", errno));
  OutputPipe pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
  // Ours only: the worker's libraries do not expect EAGAIN from stdout.
  if (fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK) != 0) {
    return model::fail(model::from_errno("set O_NONBLOCK on a pipe", errno));
  }
  return pipe;
}

/// A child whose Worker is gone and that SIGKILL has not ended yet (stuck in a driver): looked at
/// once a second until it can be reaped. By timer, since its pidfd may be readable all the while.
void reap_eventually(EventLoop& loop, std::shared_ptr<Process> orphan) {
  loop.after(kOrphanRetry, [&loop, orphan] {
    if (!orphan->reap()) reap_eventually(loop, orphan);
  });
}

class Machine : public std::enable_shared_from_this<Machine> {
 public:
  Machine(EventLoop& loop, WorkerOptions options, Worker::Handlers handlers, Process process,
          wire::Channel channel, UniqueFd output)
      : loop_(loop),
        options_(std::move(options)),
        handlers_(std::move(handlers)),
        process_(std::move(process)),
        channel_(std::move(channel)),
        output_(std::move(output)),
        tail_(options_.output_tail_bytes) {}

  model::Result<void> watch_all();
  bool send_packet(const std::string& packet);
  void kill(const std::string& why);
  void abandon();

  pid_t pid() const { return process_.pid(); }
  WorkerPhase phase() const { return phase_; }
  const std::string& kill_reason() const { return kill_reason_; }
  const std::string& output_tail() const { return tail_.text(); }

 private:
  enum class Drained { dry, more, closed, abandoned };

  void on_channel();
  void on_output();
  void on_exit();
  void on_ladder_timer();

  Drained drain_channel(int limit);
  void deliver(const std::string& packet);
  void complain(const std::string& text) const;
  void drain_output(std::size_t limit);
  void channel_closed();
  void climb(int signal, WorkerPhase phase);
  void stop_watching();

  /// A loop callback that does nothing once the machine is gone, and keeps it while it runs.
  auto guarded(void (Machine::*method)()) {
    return [weak = weak_from_this(), method](auto&&...) {
      if (const auto self = weak.lock()) ((*self).*method)();
    };
  }

  EventLoop& loop_;
  const WorkerOptions options_;
  const Worker::Handlers handlers_;
  Process process_;
  wire::Channel channel_;
  UniqueFd output_;
  OutputTail tail_;

  WorkerPhase phase_ = WorkerPhase::starting;
  int ladder_signal_ = 0;  ///< the last rung taken; 0 = the ladder never ran
  std::string kill_reason_;
  bool abandoned_ = false;
  std::optional<EventLoop::TimerId> ladder_timer_;
  std::optional<EventLoop::TimerId> reap_timer_;
  std::optional<EventLoop::TimerId> closed_timer_;
};

model::Result<void> Machine::watch_all() {
  const auto watch = [this](int fd, void (Machine::*method)()) {
    return loop_.watch(fd, EPOLLIN, guarded(method));
  };
  if (auto done = watch(process_.pid_fd(), &Machine::on_exit); !done) return done;
  if (auto done = watch(channel_.fd(), &Machine::on_channel); !done) return done;
  return watch(output_.get(), &Machine::on_output);
}

bool Machine::send_packet(const std::string& packet) {
  if (channel_.fd() < 0 || process_.reaped()) return false;
  return channel_.send(packet).has_value();
}

void Machine::on_channel() {
  if (drain_channel(kPacketsPerTurn) == Drained::closed) channel_closed();
}

Machine::Drained Machine::drain_channel(int limit) {
  for (int i = 0; i < limit && channel_.fd() >= 0; ++i) {
    const wire::Received received = channel_.receive();
    switch (received.status) {
      case wire::ReceiveStatus::packet:
        deliver(received.packet);
        break;
      case wire::ReceiveStatus::too_big:
        complain("a packet above " + std::to_string(wire::kMaxPacketBytes) + " bytes");
        break;
      case wire::ReceiveStatus::would_block:
        return Drained::dry;
      case wire::ReceiveStatus::closed:
      case wire::ReceiveStatus::failed:
        // A reset means that it died with packets of ours unread; the kernel says so once, ahead of
        // what the worker had sent before.
        if (received.sys_errno != ECONNRESET) return Drained::closed;
        break;
    }
    if (abandoned_) return Drained::abandoned;
  }
  return Drained::more;
}

void Machine::deliver(const std::string& packet) {
  if (handlers_.packet) {
    if (phase_ == WorkerPhase::starting) phase_ = WorkerPhase::running;
    return handlers_.packet(packet);
  }
  const auto message = wire::decode_from_worker(packet);
  if (!message) return complain(message.error().text);
  if (const auto* hello = std::get_if<wire::Hello>(&*message)) {
    if (hello->v != wire::kProtocolVersion) {
      return complain("it speaks protocol version " + std::to_string(hello->v) + ", not " +
                      std::to_string(wire::kProtocolVersion));
    }
    if (phase_ == WorkerPhase::starting) phase_ = WorkerPhase::running;
  }
  if (handlers_.message) handlers_.message(*message);
}

void Machine::complain(const std::string& text) const {
  if (handlers_.protocol_error) handlers_.protocol_error(text);
}

void Machine::channel_closed() {
  loop_.unwatch(channel_.fd());
  channel_.close();
  // Usually it is just dying: its descriptors go a moment before its exit can be seen.
  closed_timer_ = loop_.after(options_.grace, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->ladder_signal_ == 0 && !self->process_.has_exited()) {
      self->complain("it closed its channel (or sent an empty packet) and lives on");
    }
  });
}

void Machine::on_output() {
  drain_output(kOutputPerTurn);
}

void Machine::drain_output(std::size_t limit) {
  std::array<char, 16 * 1024> buffer;
  for (std::size_t done = 0; done < limit && output_;) {
    const ssize_t n = read(output_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {  // everybody closed it
      loop_.unwatch(output_.get());
      output_.reset();
      return;
    }
    tail_.append({buffer.data(), static_cast<std::size_t>(n)});
    done += static_cast<std::size_t>(n);
  }
}

void Machine::kill(const std::string& why) {
  if (ladder_signal_ != 0 || process_.has_exited()) return;
  kill_reason_ = why;
  climb(SIGTERM, WorkerPhase::terminating);
}

void Machine::climb(int signal, WorkerPhase phase) {
  phase_ = phase;
  ladder_signal_ = signal;
  process_.signal_group(signal);
  ladder_timer_ = loop_.after(options_.grace, guarded(&Machine::on_ladder_timer));
}

void Machine::on_ladder_timer() {
  ladder_timer_.reset();
  // A busy turn may not have got round to the pidfd.
  if (process_.has_exited()) return on_exit();
  if (phase_ == WorkerPhase::terminating) return climb(SIGKILL, WorkerPhase::killing);
  phase_ = WorkerPhase::unreaped;
  if (handlers_.unreaped) handlers_.unreaped();
}

void Machine::on_exit() {
  std::optional<ExitFact> fact = process_.reap();
  if (!fact) {
    // Held by a debugger: its pidfd stays readable, and would make the loop spin.
    loop_.unwatch(process_.pid_fd());
    reap_timer_ = loop_.after(kReapRetry, guarded(&Machine::on_exit));
    return;
  }
  if (ladder_signal_ != 0) fact = KilledByUs{ladder_signal_};
  stop_watching();
  drain_output(kOutputAtExit);
  if (drain_channel(kPacketsAtExit) == Drained::abandoned) return;
  channel_.close();
  output_.reset();
  phase_ = WorkerPhase::ended;
  if (handlers_.ended) handlers_.ended(*fact);
}

void Machine::stop_watching() {
  for (const int fd : {process_.pid_fd(), channel_.fd(), output_.get()}) {
    if (fd >= 0) loop_.unwatch(fd);
  }
  for (auto* timer : {&ladder_timer_, &reap_timer_, &closed_timer_}) {
    if (*timer) loop_.cancel(**timer);
    timer->reset();
  }
}

void Machine::abandon() {
  abandoned_ = true;
  stop_watching();
  channel_.close();
  output_.reset();
  if (process_.reaped()) return;
  process_.signal_group(SIGKILL);
  const bool hopeless = phase_ == WorkerPhase::unreaped;
  if (process_.reap_within(hopeless ? Millis(0) : kDestructorPatience)) return;
  reap_eventually(loop_, std::make_shared<Process>(std::move(process_)));
}

class Owner final : public Worker {
 public:
  explicit Owner(std::shared_ptr<Machine> machine) : machine_(std::move(machine)) {}
  ~Owner() override { machine_->abandon(); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  pid_t pid() const override { return machine_->pid(); }
  WorkerPhase phase() const override { return machine_->phase(); }
  bool send(const wire::ToWorker& message) override { return send_packet(wire::encode(message)); }
  bool send_packet(const std::string& packet) override { return machine_->send_packet(packet); }
  void kill(const std::string& why) override { machine_->kill(why); }
  const std::string& kill_reason() const override { return machine_->kill_reason(); }
  const std::string& output_tail() const override { return machine_->output_tail(); }

 private:
  const std::shared_ptr<Machine> machine_;
};

}  // namespace

model::Result<std::unique_ptr<Worker>> Worker::spawn(EventLoop& loop, WorkerOptions options,
                                                     Handlers handlers) {
  auto channels = wire::Channel::make_pair();
  if (!channels) return model::fail(model::wrap(channels.error(), "start a worker"));
  auto pipe = make_output_pipe();
  if (!pipe) return model::fail(model::wrap(pipe.error(), "start a worker"));

  auto process = Process::spawn({options.executable, options.arguments,
                                 worker_environment(options.keep_environment),
                                 channels->second.fd(), pipe->write_end.get()});
  if (!process) return model::fail(process.error());

  auto machine =
      std::make_shared<Machine>(loop, std::move(options), std::move(handlers), std::move(*process),
                                std::move(channels->first), std::move(pipe->read_end));
  auto worker = std::make_unique<Owner>(machine);  // from here on a failure kills what was started
  if (auto watched = machine->watch_all(); !watched) {
    return model::fail(model::wrap(watched.error(), "watch a worker"));
  }
  return worker;
}

}  // namespace collwatch::supervise
