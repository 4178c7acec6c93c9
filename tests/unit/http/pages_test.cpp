// SPDX-License-Identifier: Apache-2.0
//
// What each path answers, and that a page is rendered once for many scrapes, with an injected
// clock.
#include "exporters/http/pages.h"

#include "exporters/json/documents.h"
#include "exporters/prometheus/render.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::exporters;
using namespace std::chrono_literals;

namespace {

struct World {
  std::shared_ptr<const Snapshot> snapshot =
      std::make_shared<const Snapshot>(test::sample_snapshot());
  double since_turn = 0;
  Pages::TimePoint now{};
  Pages pages{{[this] { return snapshot; }, [this] { return since_turn; }}, [this] { return now; }};

  bool page_has(const std::string& path, const std::string& text) {
    return pages.get(path).body->find(text) != std::string::npos;
  }
};

}  // namespace

TEST_CASE("each path answers with its content type") {
  World world;
  CHECK(std::string(world.pages.get("/metrics").content_type) ==
        "text/plain; version=0.0.4; charset=utf-8");
  CHECK(world.page_has("/metrics", "collwatch_suspect{kind=\"node\",entity=\"node-c\""));
  CHECK(world.page_has("/metrics", "\nprocess_resident_memory_bytes "));
  for (const char* path :
       {"/api/v1/status", "/api/v1/verdicts", "/api/v1/fingerprints", "/api/v1/events"}) {
    const Reply reply = world.pages.get(path);
    CHECK(reply.status == 200);
    CHECK(std::string(reply.content_type) == "application/json; charset=utf-8");
    CHECK(reply.body->find("\"node\":\"node-a\"") != std::string::npos);
  }
  CHECK(*world.pages.get("/api/v1/verdicts").body == verdicts_json(*world.snapshot));
  CHECK(world.pages.get("/").status == 200);
  CHECK(world.page_has("/", "href=\"/api/v1/status\""));
}

TEST_CASE("what does not exist is a JSON 404, near misses included") {
  World world;
  for (const char* path : {"/nothing", "", "/metrics/", "/Metrics", "/api/v1", "//", "/../etc"}) {
    const Reply reply = world.pages.get(path);
    CHECK(reply.status == 404);
    CHECK(std::string(reply.content_type) == kJsonContentType);
  }
}

TEST_CASE("a thousand scrapes of one snapshot cost one rendering") {
  World world;
  for (int i = 0; i < 1000; ++i) (void)world.pages.get("/metrics");
  CHECK(world.pages.renderings() == 1);
  CHECK(world.pages.get("/metrics").body == world.pages.get("/metrics").body);

  world.snapshot = std::make_shared<const Snapshot>(test::sample_snapshot());
  (void)world.pages.get("/metrics");
  CHECK(world.pages.renderings() == 2);
  (void)world.pages.get("/api/v1/status");
  CHECK(world.pages.renderings() == 3);
}

TEST_CASE("while the loop is stuck the age on the page grows") {
  World world;
  CHECK(world.page_has("/metrics", "collwatch_round_age_seconds 0.5\n"));
  world.now += 30s;
  world.since_turn = 30;
  CHECK(world.page_has("/metrics", "collwatch_round_age_seconds 30.5\n"));
  CHECK(world.page_has("/api/v1/status", "\"age_seconds\":30.5"));
}

TEST_CASE("the age also grows when the loop turns but makes no snapshot") {
  World world;
  (void)world.pages.get("/metrics");
  world.now += 20s;
  CHECK(world.page_has("/metrics", "collwatch_round_age_seconds 20.5\n"));
  world.snapshot = std::make_shared<const Snapshot>(test::sample_snapshot());
  CHECK(world.page_has("/metrics", "collwatch_round_age_seconds 0.5\n"));
}

TEST_CASE("health follows the loop, readiness the first round") {
  World world;
  CHECK(world.pages.get("/healthz").status == 200);
  CHECK(world.pages.get("/health").status == 200);
  CHECK(world.pages.get("/readyz").status == 200);
  world.since_turn = 4.9;
  CHECK(world.pages.get("/healthz").status == 200);
  world.since_turn = 7.25;
  CHECK(world.pages.get("/health").status == 503);
  CHECK(*world.pages.get("/healthz").body == "the event loop has not turned for 7.2 s\n");

  auto unready = test::sample_snapshot();
  unready.ready = false;
  unready.not_ready_because = "the gloo probe is not installed";
  world.snapshot = std::make_shared<const Snapshot>(unready);
  const Reply reply = world.pages.get("/readyz");
  CHECK(reply.status == 503);
  CHECK(*reply.body == "not ready: the gloo probe is not installed\n");
}

TEST_CASE("before the first snapshot there is nothing to show, and it says so") {
  World world;
  world.snapshot = nullptr;
  CHECK(world.pages.get("/metrics").status == 503);
  CHECK(world.pages.get("/api/v1/status").status == 503);
  CHECK(world.pages.get("/readyz").status == 503);
  CHECK(world.pages.get("/healthz").status == 200);
  CHECK(world.pages.get("/").status == 200);
}
