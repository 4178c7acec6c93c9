// SPDX-License-Identifier: Apache-2.0
//
// Records of loggers and shippers that write JSON, and what is left of them after peeling; whatever
// is no such record stays as it is.
#include "daemon/logs/flatten_json.h"

#include <algorithm>
#include <string>

#include "daemon/logs/line_blocks.h"
#include "daemon/logs/peel.h"
#include "tests/support/catch.h"

using namespace collwatch;

namespace {

std::string flat(std::string text) {
  text.resize(logs::flatten_json(text.data(), text.size()));
  return text;
}

struct Row {
  const char* line;
  const char* text;
  const char* host;
  const char* time;
};

}  // namespace

TEST_CASE("JSON records: the message, and who wrote it when") {
  const Row rows[] = {
      {R"({"log":"[rank1]: ValueError: x\n","stream":"stderr","time":"2026-11-30T05:05:45.1Z"})",
       "ValueError: x", "", "2026-11-30T05:05:45.1Z"},
      {R"({"__REALTIME_TIMESTAMP":"1795928745123456","_HOSTNAME":"gpu-a17","_PID":"4711","MESSAGE":"[rank1]: x"})",
       "x", "gpu-a17", "2026-11-29T05:05:45.123456Z"},
      {R"({"MESSAGE":[91,114,97,110,107,49,93,58,32,120],"_HOSTNAME":"gpu-a17"})", "x", "gpu-a17",
       ""},
      {R"({"asctime": "2026-11-30 05:05:45,1", "levelname": "ERROR", "message": "a \"b\" \u00e4", "rank": 1})",
       "a \"b\" \xc3\xa4", "", "2026-11-30T05:05:45"},
      {R"({"message":"x","kubernetes":{"pod_name":"trainer-3","host":"gpu-a17"},"rank":1})", "x",
       "gpu-a17", ""},
      {R"({"ts":1795928745.5,"msg":"x","hostname":"gpu-a17","rank":"1"})", "x", "gpu-a17",
       "2026-11-29T05:05:45.5Z"},
      {R"(2026-11-30T05:05:45Z stderr F {"msg":"x","host":"gpu-a17","rank":1})", "x", "gpu-a17",
       "2026-11-30T05:05:45Z"}};
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const std::string line = flat(row.line);
    CAPTURE(line);
    CHECK(line.size() <= std::string(row.line).size());
    logs::Who who;
    const std::string text(logs::peel(line, who));
    CHECK(text == row.text);
    CHECK(who.host == row.host);
    CHECK(who.time.rfind(row.time, 0) == 0);
  }
}

TEST_CASE("a record's lines stay on the record's line, colours go") {
  CHECK(flat("{\"msg\":\"a\\nb\\n\", \"exc_info\":\"Traceback\\n  File\\nValueError: x\"}\n") ==
        "a\vb\vTraceback\v  File\vValueError: x\n");
  CHECK(flat("{\"log\":\"a\\nb\\u001b[31mc\\r\\n\"}\n") == "a\vbc\n");
  CHECK(flat("first\n{\"log\":\"a\"}\n{\"log\":\"b\"}\nlast {\"log\":\"c\"}\n{\"log\":\"d\"}") ==
        "first\na\nb\nlast {\"log\":\"c\"}\nd");
}

TEST_CASE("what is no record with a message stays") {
  for (const std::string line :
       {R"({"loss": 2.1, "step": 3})", R"({"msg": "x")", R"({"msg": "x"} more)", R"({"msg": "\x"})",
        R"({"msg": "\ud800"})", R"({"msg": ["x"]})", R"({"msg": 3})", "{", "{}", "{\"", "{\"msg\"",
        R"({"msg":"x",})", R"([{"msg":"x"}])", R"({'msg': 'x'})", "{ \"a"}) {
    CHECK(flat(line) == line);
  }
  const std::string deep = "{\"a\":" + std::string(200000, '[');
  CHECK(flat(deep) == deep);
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += "{\"a\":";
  CHECK(flat(nested) == nested);
}

TEST_CASE("a record never becomes longer, its lines never more") {
  // Prefixes that would not fit are left out.
  for (const std::string line :
       {R"({"log":"x","h":1,"host":"a"})", R"({"msg":"x","ts":"1795928745"})",
        R"({"msg":"xyz","pid":1})", R"({"host":"a","rank":1,"msg":"x"})"}) {
    const std::string made = flat(line + "\n");
    CHECK(made.size() <= line.size() + 1);
    CHECK(std::count(made.begin(), made.end(), '\n') == 1);
    CHECK(made.find('x') != std::string::npos);
  }
}
