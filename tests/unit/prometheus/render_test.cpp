// SPDX-License-Identifier: Apache-2.0
//
// What a page promises whatever happened: closed sets in full, one series per label set, valid
// text, and never more than 700 series.
#include "exporters/prometheus/render.h"

#include "exporters/prometheus/fingerprint_sources.h"
#include "exporters/prometheus/metric_table.h"
#include "exporters/prometheus/utf8.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/unit/prometheus/page.h"

using namespace collwatch;
using namespace collwatch::exporters;
using namespace collwatch::test;

namespace {

/// Everything that can grow, grown: a large cluster, every fingerprint from every source, every
/// outcome, and more keys than any version of the daemon will ever invent.
Snapshot worst_case() {
  Snapshot s = sample_snapshot();
  for (int i = 0; i < 20000; ++i) s.members.push_back({"n" + std::to_string(i)});
  for (int i = 0; i < 500; ++i) {
    Verdict v = sample_directed_verdict();
    v.entity = "n" + std::to_string(i) + "->n0";
    s.verdicts.push_back(v);
    s.edges.push_back(s.edges.front());
    const std::string key = "key" + std::to_string(i);
    s.jobs.push_back({key, {}, {}, 1, 1, "gloo", key, key, false});
    s.counters.witness_datagrams[{key, "ok"}] = 1;
    s.counters.rendezvous[key].runs.fill(1);
    s.counters.worker_restarts[{key, "stuck"}] = 1;
    s.counters.probe_skipped[{key, model::SkipReason::mps}] = 1;
    for (std::size_t c = 0; c < model::kCount<model::Collective>; ++c) {
      auto& counters = s.counters.collectives[{key, static_cast<model::Collective>(c)}];
      counters.runs.fill(7);
      counters.last_success = at_second(1);
    }
  }
  for (std::size_t f = 0; f < model::kCount<model::Fingerprint>; ++f) {
    const auto id = static_cast<model::Fingerprint>(f);
    s.fingerprints.push_back(s.fingerprints.front());
    s.fingerprints.back().id = id;
    s.counters.fingerprint_last_seen[id] = at_second(1);
    for (std::size_t source = 0; source < model::kCount<model::Source>; ++source) {
      s.counters.fingerprint_events[{id, static_cast<model::Source>(source)}] = 3;
    }
  }
  return s;
}

}  // namespace

TEST_CASE("a page never exceeds 700 series, and none of them stands there twice") {
  const std::string page = render(worst_case(), {0, ProcessMetrics{1, 1, 1, 1, 1, 1}});
  CHECK(samples(page).size() <= 700);
  CHECK(samples(page).size() <= series_budget());
  CHECK(samples(page).size() > 500);  // or the worst case is not one
  CHECK(distinct_series(page).size() == samples(page).size());
  CHECK(samples_of(page, "collwatch_suspect").size() == kMaxSuspects);
  // The first ones are the worst ones: they stay.
  CHECK(has(page, "entity=\"node-c\""));
}

TEST_CASE("closed sets are always there in full, zeros included") {
  const std::string page = render(Snapshot{});
  CHECK(samples_of(page, "collwatch_fingerprint_active").size() ==
        model::kCount<model::Fingerprint> - 1);
  CHECK_FALSE(has(page, "fingerprint=\"none\""));
  CHECK(samples_of(page, "collwatch_edge_rounds_total").size() == model::kCount<model::Outcome>);
  CHECK(samples_of(page, "collwatch_members").size() == model::kCount<model::MemberState>);
  CHECK(samples_of(page, "collwatch_suspect").empty());
  CHECK(has(page,
            "collwatch_fingerprint_events_total{fingerprint=\"gpu_hardware_xid\","
            "source=\"kernel\"} 0\n"));
  CHECK(has(page,
            "collwatch_fingerprint_events_total{fingerprint=\"gloo_fallback_on_gpu\","
            "source=\"process\"} 0\n"));
  CHECK_FALSE(has(page, "{fingerprint=\"gloo_fallback_on_gpu\",source=\"probe\"}"));
  CHECK_FALSE(has(page, "{fingerprint=\"gloo_peer_lost\",source=\"kernel\"}"));
}

TEST_CASE("every fingerprint has a source, and the table has room for all pairs") {
  std::size_t pairs = 0;
  for (std::size_t f = 0; f < model::kCount<model::Fingerprint> - 1; ++f) {
    bool seen = false;
    for (std::size_t s = 0; s < model::kCount<model::Source>; ++s) {
      if (!can_see(static_cast<model::Source>(s), static_cast<model::Fingerprint>(f))) continue;
      seen = true;
      ++pairs;
    }
    CHECK(seen);
  }
  CHECK(pairs <= metric(MetricId::fingerprint_events_total).label_sets);
  CHECK(model::kCount<model::Fingerprint> - 1 <= metric(MetricId::fingerprint_active).label_sets);
  CHECK(model::kCount<model::Outcome> == metric(MetricId::edge_rounds_total).label_sets);
  CHECK(model::kCount<model::MemberState> == metric(MetricId::members).label_sets);
}

TEST_CASE("verdicts become suspects with all their labels, equal ones only once") {
  Snapshot s = sample_snapshot();
  s.verdicts.push_back(s.verdicts[0]);
  const std::string page = render(s);
  CHECK(has(page,
            "collwatch_suspect{kind=\"node\",entity=\"node-c\",reason=\"host_stall\","
            "fingerprint=\"gloo_collective_timeout\",state=\"page\",view=\"direct\"} 1\n"));
  CHECK(samples_of(page, "collwatch_suspect").size() == 2);
}

TEST_CASE("a directed link names the link that it belongs to, names sorted") {
  Snapshot s = sample_snapshot();
  s.verdicts[0].kind = model::Kind::directed_link;
  s.verdicts[0].entity = "node-a->node-b";
  const std::string page = render(s);
  CHECK(has(page,
            "collwatch_suspect_link_info{entity=\"node-d->node-b\","
            "link=\"node-b<->node-d\"} 1\n"));
  CHECK(has(page,
            "collwatch_suspect_link_info{entity=\"node-a->node-b\","
            "link=\"node-a<->node-b\"} 1\n"));
}

TEST_CASE("hostile names leave a page that Prometheus can read") {
  Snapshot s = sample_snapshot();
  s.node = "n\"\n\\\xff\xfe";
  s.verdicts[0].entity = "a\x80z";
  s.verdicts[1].entity = "a\x81z";  // the same text once both are made valid
  s.verdicts[1].kind = s.verdicts[0].kind;
  s.verdicts[1].reason = s.verdicts[0].reason;
  s.verdicts[1].state = s.verdicts[0].state;
  s.verdicts[1].view = s.verdicts[0].view;
  const std::string page = render(s);
  CHECK(has(page, "node=\"n\\\"\\n\\\\\xEF\xBF\xBD\xEF\xBF\xBD\""));
  CHECK(valid_utf8(page) == page);
  CHECK(distinct_series(page).size() == samples(page).size());
}

TEST_CASE("only what is not UTF-8 is replaced") {
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(valid_utf8("n\xC3\xB6"
                   "de-\xE2\x82\xAC-\xF0\x9F\x90\x8E") ==
        "n\xC3\xB6"
        "de-\xE2\x82\xAC-\xF0\x9F\x90\x8E");
  CHECK(valid_utf8("a\xC3") == "a" + bad);                         // cut off
  CHECK(valid_utf8("\xC0\xAF") == bad + bad);                      // overlong
  CHECK(valid_utf8("\xED\xA0\x80") == bad + bad + bad);            // surrogate
  CHECK(valid_utf8("\xF4\x90\x80\x80") == bad + bad + bad + bad);  // above the last one
  CHECK(valid_utf8("\xE0\x80\xAF") == bad + bad + bad);            // overlong, three bytes
}

TEST_CASE("the age of the snapshot adds to the age of the round") {
  CHECK(has(render(sample_snapshot(), {30, std::nullopt}), "collwatch_round_age_seconds 30.5\n"));
}

TEST_CASE("bucket counts are cumulative and end at the count") {
  const std::string page = render(sample_snapshot());
  CHECK(has(page, "collwatch_edge_round_trip_seconds_bucket{partition=\"clique\",le=\"0.1\"} 2\n"));
  CHECK(has(page, "collwatch_edge_round_trip_seconds_bucket{partition=\"clique\",le=\"1\"} 3\n"));
  CHECK(
      has(page, "collwatch_edge_round_trip_seconds_bucket{partition=\"clique\",le=\"+Inf\"} 3\n"));
  CHECK(has(page, "collwatch_edge_round_trip_seconds_count{partition=\"clique\"} 3\n"));
}

TEST_CASE("the three latest peers have a series, as long as they are late") {
  Snapshot s = sample_snapshot();
  CHECK(samples_of(render(s), "collwatch_straggler_lateness_seconds").empty());
  s.edges.assign(5, exporters::Edge{});
  for (int i = 0; i < 5; ++i) {
    s.edges[static_cast<std::size_t>(i)].peer = "n" + std::to_string(i);
    s.edges[static_cast<std::size_t>(i)].lateness_seconds = 0.1 * i;
  }
  const std::string page = render(s);
  CHECK(samples_of(page, "collwatch_straggler_lateness_seconds").size() == kMaxStragglers);
  CHECK(has(page, "collwatch_straggler_lateness_seconds{peer=\"n4\"} 0.4\n"));
  CHECK_FALSE(has(page, "peer=\"n1\""));
}
