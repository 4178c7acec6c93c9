// SPDX-License-Identifier: Apache-2.0
//
// The agent's looks at the folder of `probes.rendezvous.file_path`: starts collwatch-probe-store
// for each, gives it up at the deadline (a file server that is away hangs whoever asks it), and
// hands what it told to FolderSharing. Lives on the event loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/agent/folder_sharing.h"
#include "daemon/base/event_loop.h"
#include "daemon/supervise/worker.h"
#include "probes/model/vocabulary.h"

namespace collwatch::agent {

class StoreLink {
 public:
  struct Handlers {
    /// Members that answer on the network now, us left out.
    std::function<std::set<std::string>()> alive;
    /// All members, sorted, us left out.
    std::function<std::vector<std::string>()> members;
    /// After each look: how it ended and how long it took.
    std::function<void(model::Outcome outcome, double seconds)> looked;
    std::function<void(model::SkipReason reason)> skipped;
    /// How many processes could not be reaped: 0 or 1.
    std::function<void(int count)> unreaped;
  };
  struct Options {
    std::string executable;
    std::string folder;
    std::string self;
    base::Millis interval{300000};
    base::Millis first_interval{30000};  ///< between the first looks, if that is less
    base::Millis deadline{10000};
  };
  /// Files that one look reads, at most: from a thousand members each reads those of the next 32.
  static constexpr std::size_t kMostRead = 32;

  StoreLink(base::EventLoop& loop, Options options, Handlers handlers);
  ~StoreLink();

  void start();
  const FolderSharing& sharing() const { return sharing_; }

 private:
  void look();
  void schedule();
  /// The first looks follow each other sooner: who has no file at all is known by then.
  bool is_early() const { return looks_ <= FolderSharing::kLooks + 1; }
  void on_packet(const std::string& packet);
  void on_ended(const supervise::ExitFact& fact);
  std::vector<std::string> whom_to_read() const;

  base::EventLoop& loop_;
  const Options options_;
  Handlers handlers_;
  FolderSharing sharing_;
  std::unique_ptr<supervise::Worker> worker_;
  base::EventLoop::TimerId timer_ = 0;
  base::EventLoop::TimerId deadline_ = 0;
  int looks_ = 0;
  bool is_unreaped_ = false;
  base::TimePoint began_{};
  std::optional<wire::StoreFolder> folder_;
  std::vector<wire::StoreMember> files_;
  std::optional<wire::StoreDone> done_;
};

}  // namespace collwatch::agent
