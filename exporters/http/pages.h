// SPDX-License-Identifier: Apache-2.0
//
// What each path answers, knowing nothing of sockets. A page is rendered from the current Snapshot
// when it is asked for and kept until there is a newer Snapshot (at most a second, so that ages
// stay true while the daemon's loop is stuck): a thousand scrapes cost one rendering. One thread,
// the HTTP server's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/snapshot.h"

namespace collwatch::exporters {

struct Reply {
  unsigned status = 200;
  const char* content_type = "";
  std::shared_ptr<const std::string> body;
  const char* allow = nullptr;       ///< methods, where another was used
  const char* challenge = nullptr;   ///< how to prove who one is, where that is asked
  const char* come_again = nullptr;  ///< after so many seconds
};

/// {"schema": 1, "error": text}
Reply error_reply(unsigned status, const std::string& text);

/// Who may read the pages.
struct HttpUser {
  std::string name;
  std::string password_hash;  ///< as crypt(3) makes it
};

/// Who answers POST /api/v1/diagnose.
struct DiagnosePort {
  std::string refusal;  ///< a sentence: nobody is answered, and this is why
  std::size_t most_bytes = std::size_t{8} << 20;
  int at_once = 2;  ///< logs that may be on their way; further ones are told to come again
  /// Whoever sends slower than this, after a while of grace, gives way.
  std::size_t least_bytes_per_second = std::size_t{256} << 10;
  std::chrono::milliseconds grace{3000};
  /// Asked each time; not "": nobody is answered for now, and this is why.
  std::function<std::string()> not_now;
  /// Takes over the descriptor, which holds the log, and answers once, from any thread. Must not
  /// block. Null: the page does not exist.
  std::function<void(int log, std::function<void(Reply)> answer)> run;
};

/// These are called on the HTTP thread, must not block and must not throw.
struct HttpCallbacks {
  std::function<std::shared_ptr<const Snapshot>()> snapshot;  ///< null: nothing to show yet
  std::function<double()> seconds_since_turn;                 ///< of the daemon's event loop
  DiagnosePort diagnose{};
  std::vector<HttpUser> users{};  ///< none: everybody may read everything
};

class Pages {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Now = std::function<TimePoint()>;

  explicit Pages(HttpCallbacks callbacks, Now now = std::chrono::steady_clock::now);

  /// Whether `path` is for everybody though there are users: what orchestrators ask, without a
  /// password to give, and what tells them no more than that the agent lives.
  static bool is_open(std::string_view path);

  /// The reply to GET `path` (without its query). 404 for what does not exist.
  Reply get(std::string_view path);

  /// How often a page was rendered rather than taken from the last time.
  std::uint64_t renderings() const { return renderings_; }

 private:
  using Renderer = std::string (*)(const Snapshot&, double snapshot_age_seconds);
  struct Route {
    const char* content_type;
    Renderer render;
  };
  struct Kept {
    std::shared_ptr<const Snapshot> of;  ///< holding it keeps the address from being used again
    TimePoint at;
    std::shared_ptr<const std::string> body;
  };

  static const Route* rendered_route(std::string_view path);
  Reply rendered(std::string_view path, const Route& route);
  Reply health() const;
  Reply readiness() const;
  double age_of(const std::shared_ptr<const Snapshot>& snapshot, TimePoint now);

  HttpCallbacks callbacks_;
  Now now_;
  std::map<std::string, Kept, std::less<>> kept_;
  std::shared_ptr<const Snapshot> newest_;
  TimePoint newest_since_;
  std::uint64_t renderings_ = 0;
};

}  // namespace collwatch::exporters
