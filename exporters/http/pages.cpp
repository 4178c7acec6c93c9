// SPDX-License-Identifier: Apache-2.0
//
// The table of paths, and the two answers that orchestrators ask for.
#include "exporters/http/pages.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "exporters/json/documents.h"
#include "exporters/prometheus/process_metrics.h"
#include "exporters/prometheus/render.h"

namespace collwatch::exporters {
namespace {

/// A loop that has not turned for this long is not slow, it is stuck.
constexpr double kStuckSeconds = 5;
constexpr std::chrono::seconds kKeptAtMost{1};

constexpr const char* kPlain = "text/plain; charset=utf-8";
constexpr const char* kHtml = "text/html; charset=utf-8";

constexpr const char* kIndex = R"(<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>collwatch</title></head>
<body>
<h1>collwatch</h1>
<p>This agent watches whether collectives between this node and its peers work, and who breaks
them.</p>
<ul>
<li><a href="/metrics">/metrics</a> for Prometheus</li>
<li><a href="/api/v1/status">/api/v1/status</a> everything this agent knows</li>
<li><a href="/api/v1/verdicts">/api/v1/verdicts</a> whom it holds responsible</li>
<li><a href="/api/v1/fingerprints">/api/v1/fingerprints</a> which failure classes it sees</li>
<li><a href="/api/v1/events">/api/v1/events</a> what changed lately</li>
<li>POST /api/v1/diagnose a log, and read who broke the job</li>
<li><a href="/healthz">/healthz</a> is the agent alive?</li>
<li><a href="/readyz">/readyz</a> is it doing its work?</li>
</ul>
</body>
</html>
)";

Reply reply(unsigned status, const char* content_type, std::string body) {
  return {status, content_type, std::make_shared<const std::string>(std::move(body))};
}

Reply sentence(unsigned status, const std::string& text) {
  return reply(status, kPlain, text + "\n");
}

std::string metrics_page(const Snapshot& snapshot, double age) {
  return render(snapshot, {age, read_process_metrics()});
}

template <std::string (*document)(const Snapshot&)>
std::string ageless(const Snapshot& snapshot, double /*age*/) {
  return document(snapshot);
}

}  // namespace

Reply error_reply(unsigned status, const std::string& text) {
  return reply(status, kJsonContentType, error_json(text));
}

Pages::Pages(HttpCallbacks callbacks, Now now)
    : callbacks_(std::move(callbacks)), now_(std::move(now)) {}

const Pages::Route* Pages::rendered_route(std::string_view path) {
  static constexpr std::array<std::pair<std::string_view, Route>, 5> kRoutes = {{
      {"/metrics", {kMetricsContentType, metrics_page}},
      {"/api/v1/status", {kJsonContentType, status_json}},
      {"/api/v1/verdicts", {kJsonContentType, ageless<verdicts_json>}},
      {"/api/v1/fingerprints", {kJsonContentType, ageless<fingerprints_json>}},
      {"/api/v1/events", {kJsonContentType, ageless<events_json>}},
  }};
  for (const auto& [known, route] : kRoutes) {
    if (known == path) return &route;
  }
  return nullptr;
}

bool Pages::is_open(std::string_view path) {
  return path == "/healthz" || path == "/health" || path == "/readyz";
}

Reply Pages::get(std::string_view path) {
  if (const Route* route = rendered_route(path)) return rendered(path, *route);
  if (path == "/healthz" || path == "/health") return health();
  if (path == "/readyz") return readiness();
  if (path == "/") return reply(200, kHtml, kIndex);
  return error_reply(404, "no such page; / lists those there are");
}

Reply Pages::rendered(std::string_view path, const Route& route) {
  const auto snapshot = callbacks_.snapshot();
  if (!snapshot) return sentence(503, "nothing to show yet");

  const TimePoint now = now_();
  Kept& kept = kept_[std::string(path)];
  if (kept.of != snapshot || now - kept.at >= kKeptAtMost) {
    const double age = age_of(snapshot, now);
    kept = {snapshot, now, std::make_shared<const std::string>(route.render(*snapshot, age))};
    ++renderings_;
  }
  return {200, route.content_type, kept.body};
}

/// Two clocks can stop: the loop (then it says so), or the making of Snapshots (then this same one
/// keeps coming).
double Pages::age_of(const std::shared_ptr<const Snapshot>& snapshot, TimePoint now) {
  if (newest_ != snapshot) {
    newest_ = snapshot;
    newest_since_ = now;
  }
  const double seen_for = std::chrono::duration<double>(now - newest_since_).count();
  return std::max({0.0, callbacks_.seconds_since_turn(), seen_for});
}

Reply Pages::health() const {
  const double stuck = callbacks_.seconds_since_turn();
  if (stuck < kStuckSeconds) return sentence(200, "ok");
  char text[96];
  std::snprintf(text, sizeof text, "the event loop has not turned for %.1f s", stuck);
  return sentence(503, text);
}

Reply Pages::readiness() const {
  const auto snapshot = callbacks_.snapshot();
  if (!snapshot) return sentence(503, "not ready: starting");
  if (snapshot->ready) return sentence(200, "ready");
  const std::string& why = snapshot->not_ready_because;
  return sentence(503, "not ready: " + (why.empty() ? "no round is done yet" : why));
}

}  // namespace collwatch::exporters
