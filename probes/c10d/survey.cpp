// SPDX-License-Identifier: Apache-2.0
//
// A private folder for the stores, the tries, the cost.
#include "probes/c10d/survey.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include "probes/c10d/stale_file.h"

namespace collwatch::c10d_probe {
namespace {

using Clock = std::chrono::steady_clock;
using wire::C10dEnd;

/// The library's share of a try's deadline: its own words are better than our `hang`.
milliseconds of_library(milliseconds deadline) {
  return deadline * 7 / 10;
}

/// On a busy host a try may be late through no fault of the library's.
bool may_be_busy(const Ending& ending) {
  const auto says = [&ending](const char* word) {
    return ending.text.find(word) != std::string::npos;
  };
  return ending.end == C10dEnd::hang ||
         (ending.end == C10dEnd::refused && (says("imed out") || says("imeout")));
}

/// Once more with three times the time before it is believed.
Ending run_patiently(const std::function<RankBody(milliseconds of_library)>& body,
                     milliseconds deadline) {
  const Ending first = run_pair(body(of_library(deadline)), deadline);
  if (!may_be_busy(first)) return first;
  return run_pair(body(of_library(3 * deadline)), 3 * deadline);
}

/// A folder that is gone with this object; empty path: none could be made.
class Folder {
 public:
  Folder() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base != nullptr ? base : "/tmp") + "/collwatch-c10d-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// A path that was never used.
  std::string next() { return path_ + "/store" + std::to_string(++count_); }
  bool exists() const { return !path_.empty(); }

 private:
  std::string path_;
  int count_ = 0;
};

std::int64_t milliseconds_of(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1000 + time.tv_usec / 1000;
}

wire::C10dDone cost(Clock::time_point since) {
  wire::C10dDone done;
  done.wall_ms = std::chrono::duration_cast<milliseconds>(Clock::now() - since).count();
  for (const __rusage_who who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    done.cpu_ms += milliseconds_of(used.ru_utime) + milliseconds_of(used.ru_stime);
    done.rss_kb = std::max<std::int64_t>(done.rss_kb, used.ru_maxrss);
  }
  return done;
}

void survey_device(const Subject& subject, const std::string& device, const SurveyPlan& plan,
                   Folder& folder, const Tell& tell) {
  const Ending there = run_alone([&] { return subject.device(device); }, plan.deadline);
  if (there.end != C10dEnd::ok) {
    tell(wire::C10dCell{"", "", "", device, there.end, there.text});
    return;
  }
  for (const Combination& what : combinations(device)) {
    if (plan.is_stopped && plan.is_stopped()) return;
    const Ending ending = run_patiently(
        [&](milliseconds timeout) -> RankBody {
          return [&subject, &what, store = folder.next(), timeout](int rank, const Between&) {
            return subject.operation(what, rank, store, timeout);
          };
        },
        plan.deadline);
    tell(wire::C10dCell{what.op, what.dtype, what.reduce_op, what.device, ending.end, ending.text});
  }
}

void survey_store(const std::string& name,
                  const std::function<RankBody(milliseconds of_library)>& body,
                  const SurveyPlan& plan, const Tell& tell) {
  const auto began = Clock::now();
  const Ending ending = run_patiently(body, plan.deadline);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
  tell(wire::C10dStore{name, ending.end, took.count(), ending.text});
}

void survey_stores(const Subject& subject, const SurveyPlan& plan, Folder& folder,
                   const Tell& tell) {
  const auto through_tcp = [&subject](milliseconds timeout) -> RankBody {
    return [&subject, timeout](int rank, const Between& between) {
      return subject.tcp_store(rank, between, timeout);
    };
  };
  const auto through_file = [&subject](std::string path, milliseconds timeout) -> RankBody {
    return [&subject, path = std::move(path), timeout](int rank, const Between&) {
      return subject.file_store(rank, path, timeout);
    };
  };
  survey_store("tcp", through_tcp, plan, tell);
  survey_store(
      "file", [&](milliseconds timeout) { return through_file(folder.next(), timeout); }, plan,
      tell);
  if (plan.file_store.empty()) return;
  // Never in the file itself, which may be a job's: beside it.
  const std::string stale = describe_stale_file(plan.file_store);
  if (!stale.empty()) {
    tell(wire::C10dStore{"file " + plan.file_store, C10dEnd::refused, 0, stale});
  }
  const std::string beside = plan.file_store + ".collwatch-" + std::to_string(::getpid());
  std::error_code ignored;
  survey_store(
      "file " + beside,
      [&](milliseconds timeout) {
        std::filesystem::remove(beside, ignored);
        return through_file(beside, timeout);
      },
      plan, tell);
  std::filesystem::remove(beside, ignored);
}

}  // namespace

void survey(const Subject& subject, const SurveyPlan& plan, const Tell& tell) {
  const auto began = Clock::now();
  tell(wire::C10dVersions{wire::kC10dVersion, subject.version()});
  Folder folder;
  if (!folder.exists()) {
    tell(wire::C10dStore{"file", C10dEnd::unavailable, 0, "no folder for stores can be made"});
  } else {
    survey_stores(subject, plan, folder, tell);
    for (const std::string& device : plan.devices) {
      survey_device(subject, device, plan, folder, tell);
    }
  }
  // Half of it is not the report.
  if (plan.is_stopped && plan.is_stopped()) return;
  tell(cost(began));
}

void collect(const wire::FromC10d& message, wire::C10dReport& report) {
  std::visit(
      [&report](const auto& part) {
        using Part = std::decay_t<decltype(part)>;
        if constexpr (std::is_same_v<Part, wire::C10dVersions>) {
          report.versions = part;
        } else if constexpr (std::is_same_v<Part, wire::C10dCell>) {
          report.cells.push_back(part);
        } else if constexpr (std::is_same_v<Part, wire::C10dStore>) {
          report.stores.push_back(part);
        } else {
          report.done = part;
        }
      },
      message);
}

}  // namespace collwatch::c10d_probe
