// SPDX-License-Identifier: Apache-2.0
//
// From lines to events: fields by the grammar, meaning by the catalogue, exceptions, exits.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "daemon/diagnose/collector.h"
#include "daemon/diagnose/numbers.h"

namespace collwatch::diagnose {
namespace {

constexpr std::size_t kManyEvents = 4000;   ///< of one file: from here on only what is new
constexpr std::size_t kMostEvents = 20000;  ///< of one file
constexpr std::size_t kMostExits = 20000;  ///< of one file; likewise what launchers end and restart
constexpr std::size_t kMostListed = 4096;  ///< bytes of a list of ranks
constexpr int kMostPerPattern = 200;       ///< of one writer
constexpr int kMostBenign = 20;            ///< likewise, of a pattern that is no failure
constexpr int kMostOfMany = 2;             ///< of one writer and pattern, where there are many

int signal_number(const std::string& name) {
  struct Name {
    std::string_view word;
    int number;
  };
  static constexpr Name kNames[] = {{"Killed", 9},    {"SIGKILL", 9},  {"Aborted", 6},
                                    {"SIGABRT", 6},   {"SIGSEGV", 11}, {"Segmentation fault", 11},
                                    {"Bus error", 7}, {"SIGBUS", 7},   {"Terminated", 15},
                                    {"SIGTERM", 15},  {"SIGINT", 2},   {"Out Of Memory", 9},
                                    {"SIGILL", 4},    {"SIGFPE", 8}};
  for (const Name& one : kNames) {
    if (one.word == name) return one.number;
  }
  return 0;
}

std::optional<int> integer(const Event& event, const std::string& field) {
  const std::string* const text = event.field(field);
  if (text == nullptr || text->empty() || text->size() > 9) return std::nullopt;
  return std::atoi(text->c_str());
}

/// Exceptions that only pass on what a child process, or a user, did.
bool is_wrapper(std::string_view name) {
  for (const std::string_view one :
       {"ChildFailedError", "SignalException", "CalledProcessError", "ProcessExitedException",
        "ProcessRaisedException", "RayTaskError", "ActorDiedError", "WorkerCrashedError",
        "RayActorError", "BrokenProcessPool", "SystemExit", "EngineDeadError"}) {
    if (name == one) return true;
  }
  return false;
}

/// Failures of the transport that the catalogue has no text for: they tell of a peer, not of
/// oneself.
bool is_transport(std::string_view name, std::string_view text) {
  if (name == "DistNetworkError" || name == "DistStoreError" || name == "DistBackendError" ||
      name == "DistError")
    return true;
  for (const std::string_view end : {": Broken pipe", ": Connection reset by peer",
                                     ": Connection refused", ": Connection timed out"}) {
    if (text.size() >= end.size() && text.substr(text.size() - end.size()) == end) return true;
  }
  return false;
}

/// What a rank says, in words that no pattern knows, whose process group was not made because it
/// waited for the others in vain or found nobody: wrappers around a store do not use PyTorch's.
std::optional<model::Fingerprint> startup_of(std::string_view name, std::string_view text) {
  for (const std::string_view own : {"ValueError", "TypeError", "KeyError", "ImportError",
                                     "AttributeError", "ModuleNotFoundError", "NameError"}) {
    if (name == own) return std::nullopt;
  }
  std::string lower(text.substr(0, 400));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto says = [&](std::string_view word) { return lower.find(word) != std::string::npos; };
  const bool is_refused = says("refused") || says("unreachable") || says("no route to host") ||
                          says("connection timed out") || says("failed to connect") ||
                          says("cannot connect") || says("name resolution") || name == "gaierror";
  if (is_refused) return model::Fingerprint::store_unreachable;
  if (says("timed out") || says("timeout")) return model::Fingerprint::store_timeout;
  return std::nullopt;
}

/// What a process says whose partner went away; no fault of its own.
bool is_echo(std::string_view name) {
  for (const std::string_view one : {"ConnectionResetError", "BrokenPipeError", "EOFError",
                                     "ConnectionAbortedError", "IncompleteReadError"}) {
    if (name == one) return true;
  }
  return false;
}

}  // namespace

bool Collector::is_full() const {
  return facts_.events.size() >= kMostEvents;
}

bool Collector::has_room(const Open& open, int expression) const {
  if (is_full()) return false;
  const catalogue::Pattern* const pattern =
      expression == kNoPattern ? nullptr : patterns_.pattern(expression);
  int most = kMostPerPattern;
  if (pattern != nullptr && pattern->role == catalogue::Role::benign) most = kMostBenign;
  if (facts_.events.size() >= kManyEvents) most = kMostOfMany;
  const auto at = static_cast<std::size_t>(expression + 1);
  return at >= open.kept.size() || open.kept[at] < most;
}

bool Collector::is_settled(const Open& open, const std::vector<int>& expressions) const {
  if (expressions.empty()) return false;
  bool adds_fields = false;
  for (const int expression : expressions) {
    const Rule* const found = patterns_.rule(expression);
    if (found != nullptr) {
      adds_fields = adds_fields || found->mark == Mark::fields;
    } else if (has_room(open, expression)) {
      return false;
    }
  }
  return !adds_fields || !has_room(open, kNoPattern);
}

/// The grammar's part that acts at once.
bool Collector::marks(const std::vector<int>& expressions, std::string_view text, Event& event,
                      Open& open) {
  std::vector<match::Field> fields;
  bool is_structure = false;
  for (const int expression : expressions) {
    const Rule* const found = patterns_.rule(expression);
    if (found == nullptr || found->mark == Mark::fields || found->mark == Mark::beside) continue;
    fields.clear();
    if (!patterns_.matcher().fields(expression, text, fields)) continue;
    Event marked;
    marked.place = event.place;
    marked.who = event.who;
    marked.text = logs::printable(text);
    for (auto& [name, value] : fields) marked.fields.try_emplace(name, std::move(value));
    rule(*found, marked, open);
    if (found->mark == Mark::abort) event.is_exception = true;
    // A launcher's word about others is judged as an exit, not as its writer's own failure.
    const bool is_about_others = found->mark == Mark::exited || found->mark == Mark::report_exit ||
                                 found->mark == Mark::terminated || found->mark == Mark::restart;
    if (is_about_others) event.is_strong = false;
    is_structure = is_structure || found->mark != Mark::world;
  }
  return is_structure;
}

/// The grammar's part that says what is written in the line.
void Collector::add_fields(const std::vector<int>& expressions, std::string_view text,
                           bool is_known, Event& event) {
  std::vector<match::Field> fields;
  const auto add = [&](int expression) {
    fields.clear();
    if (!patterns_.matcher().fields(expression, text, fields)) return;
    for (auto& [name, value] : fields) event.fields.try_emplace(name, std::move(value));
    is_known = true;
  };
  for (const int expression : expressions) {
    const Rule* const found = patterns_.rule(expression);
    if (found != nullptr && found->mark == Mark::fields) add(expression);
  }
  // Not to what merely shares a word with something: the prefilter must make no difference.
  if (is_known) std::for_each(patterns_.beside().begin(), patterns_.beside().end(), add);
}

void Collector::rule(const Rule& found, Event& event, Open& open) {
  const std::size_t told = facts_.exits.size() + facts_.restarts.size() + facts_.terminated.size();
  const bool is_told = found.mark == Mark::report_exit || found.mark == Mark::exited ||
                       found.mark == Mark::restart || found.mark == Mark::terminated;
  if (is_told && told >= kMostExits) return;
  switch (found.mark) {
    case Mark::traceback:
    case Mark::frame:
      if (open.traceback.is_open()) break;
      open.traceback.begin();
      look_until_ = std::max(look_until_, event.place.line + kLookOn);
      break;
    case Mark::chained:
      open.traceback.chain();
      break;
    case Mark::spawned:
      spawned_ = integer(event, "local_rank");
      break;
    case Mark::report_host:
      report_.host = *event.field("host");
      break;
    case Mark::report_rank:
      report_.rank = integer(event, "rank");
      report_.local_rank = integer(event, "local_rank");
      break;
    case Mark::report_exit:
      report_.place = event.place;
      report_.code = integer(event, "code").value_or(0);
      report_.pid = integer(event, "pid");
      report_.text = event.text;
      facts_.exits.push_back(std::exchange(report_, Exit{}));
      break;
    case Mark::exited:
      exited(event);
      break;
    case Mark::restart:
      facts_.restarts.push_back(event.place);
      break;
    case Mark::list:
      open.lists_for = open.newest;
      look_until_ = std::max(look_until_, event.place.line + kLookOn);
      break;
    case Mark::terminated:
      if (const auto pid = integer(event, "pid")) facts_.terminated.push_back(*pid);
      break;
    case Mark::world:
      facts_.world = std::max(facts_.world.value_or(0), integer(event, "expected").value_or(0));
      break;
    case Mark::abort:
    case Mark::fields:
    case Mark::beside:
      break;
  }
}

bool Collector::listed(std::string_view text, Open& open) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits > 7 || text.substr(digits, 3) != ": [") {
    open.lists_for = -1;
    return false;
  }
  std::string& culprits = facts_.events[static_cast<std::size_t>(open.lists_for)].fields["culprit"];
  if (culprits.size() < kMostListed)
    culprits += (culprits.empty() ? "" : ", ") + std::string(text.substr(0, digits));
  return true;
}

void Collector::exited(Event& event) {
  Exit exit;
  exit.place = event.place;
  exit.text = event.text;
  exit.rank = integer(event, "rank");
  exit.local_rank = integer(event, "local_rank");
  if (const auto pid = integer(event, "pid")) exit.pid = *pid;
  if (const std::string* host = event.field("host")) exit.host = *host;
  exit.code = integer(event, "code").value_or(0);
  if (const auto signal = integer(event, "signal")) exit.code = -*signal;
  if (const std::string* end = event.field("end")) exit.code = -signal_number(*end);
  if (exit.code > 128 && exit.code < 160) exit.code = 128 - exit.code;
  const std::string* const tasks = event.field("tasks");
  if (tasks == nullptr) {
    facts_.exits.push_back(exit);
    return;
  }
  for (const int task : number_list(*tasks)) {
    if (facts_.exits.size() >= kMostExits) break;
    exit.rank = task;
    facts_.exits.push_back(exit);
  }
}

/// The catalogue's part: of several patterns the catalogue says which one speaks.
int Collector::speaker(const std::vector<int>& expressions, std::string_view raw,
                       std::string_view text, Place place) {
  for (const int expression : expressions) {  // the grammar's first, then as the catalogue wants it
    if (patterns_.pattern(expression) == nullptr || is_off(expression)) continue;
    if (finds(expression, raw, text, place)) return expression;
  }
  return kNoPattern;
}

void Collector::speak(int expression, std::string_view raw, std::string_view text, Event& event) {
  const catalogue::Pattern& pattern = *patterns_.pattern(expression);
  std::vector<match::Field> fields;
  const match::Matcher& matcher = patterns_.matcher();
  const bool is_timed = takes_time_ && patterns_.is_own(expression);
  const auto start = is_timed ? Budget::processor_time() : std::chrono::nanoseconds(0);
  if (matcher.has_fields(expression) && !matcher.fields(expression, raw, fields))
    matcher.fields(expression, text, fields);
  if (is_timed) budget_->charge(expression, Budget::processor_time() - start, event.place);
  for (auto& [name, value] : fields) event.fields.try_emplace(name, std::move(value));
  event.pattern = pattern.id;
  event.fingerprint = pattern.fingerprint;
  event.role = pattern.role;
  event.is_fallback = pattern.fallback;
}

void Collector::exception(std::string_view text, int expression, Event& event, Open& open) {
  event.op = open.traceback.op();
  event.code = open.traceback.code();
  event.is_chained = open.traceback.is_chained();
  event.is_exception = true;
  event.is_strong = true;
  if (spawned_) {
    event.who.local_rank = spawned_;
    spawned_.reset();
  }
  const std::string_view name = exception_class(text);
  if (event.pattern.empty() || event.is_fallback) {
    event.pattern = "python-exception";
    event.is_fallback = true;
    event.fingerprint = model::Fingerprint::worker_exit;
    event.role = is_echo(name) ? catalogue::Role::collateral : catalogue::Role::initiating;
    const auto startup = open.traceback.is_starting() ? startup_of(name, text) : std::nullopt;
    if (startup) {
      event.role = catalogue::Role::context;
      event.fingerprint = *startup;
    } else if (is_transport(name, text)) {
      event.role = catalogue::Role::collateral;
      event.fingerprint = model::Fingerprint::store_unreachable;
    }
    if (name == "KeyboardInterrupt") event.fingerprint = model::Fingerprint::job_cancelled;
    if (is_wrapper(name)) {
      event.pattern = "wrapper";
      event.role = catalogue::Role::benign;
    }
  }
  // An exception that nothing knows counts as itself, not as its wrapper's pattern.
  keep(std::move(event), event.pattern == "python-exception" ? kNoPattern : expression, open);
}

void Collector::keep(Event event, int expression, Open& open) {
  if (!has_room(open, expression)) return;
  if (!open.seen.insert(std::hash<std::string>()(event.pattern + "\n" + event.text)).second) return;
  const auto at = static_cast<std::size_t>(expression + 1);
  if (at >= open.kept.size()) open.kept.resize(at + 1);
  ++open.kept[at];
  open.newest = static_cast<int>(facts_.events.size());
  if (event.role != catalogue::Role::benign && event.is_strong && !event.pattern.empty()) {
    open.last_event = static_cast<int>(facts_.events.size());
    facts_.writers[open.writer].after_failure = 0;
  }
  facts_.events.push_back(std::move(event));
}

}  // namespace collwatch::diagnose
