// SPDX-License-Identifier: Apache-2.0
//
// Flight Recorder dumps among the files of a job: recognised by what is in them, alone and beside
// logs, and told in the words of the one verdict.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "daemon/diagnose/print.h"
#include "tests/support/catch.h"
#include "tests/support/compress.h"
#include "tests/support/flight_dumps.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using namespace collwatch::diagnose;
using Catch::Matchers::ContainsSubstring;
using model::Confidence;
using model::Fingerprint;
using test::Recorder;

namespace {

using Story = std::function<void(Recorder&)>;

/// Dumps of ranks 0 to 3 in a folder, pickles and JSON in turn.
void write_dumps(const TemporaryFolder& folder, const Story& story, int from = 0, int to = 3,
                 Recorder::Manner manner = Recorder::Manner::nccl) {
  for (int rank = from; rank <= to; ++rank) {
    Recorder recorder(rank, manner);
    recorder.group("0", "default_pg", {0, 1, 2, 3});
    recorder.all_reduce("0");
    recorder.call("0", "all_gather", {{4}}, {{4, 4}});
    story(recorder);
    const std::string name = "nccl_trace_rank_" + std::to_string(rank);
    if (rank % 2 == 0) {
      folder.write(name, recorder.pickle());
    } else {
      folder.write(name + ".json", recorder.json());
    }
  }
}

void rank_2_lags(Recorder& rank) {
  if (rank.rank() != 2) rank.all_reduce("0", "started");
}

bool mentions(const std::vector<std::string>& texts, const std::string& what) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(what) != std::string::npos; });
}

Diagnosis of(const TemporaryFolder& folder) {
  return diagnose_paths({folder.path().string()});
}

}  // namespace

TEST_CASE("dumps: the rank that never called it is the initiating one") {
  for (const auto manner : {Recorder::Manner::nccl, Recorder::Manner::gloo}) {
    const TemporaryFolder folder;
    write_dumps(folder, rank_2_lags, 0, 3, manner);
    const Diagnosis diagnosis = of(folder);
    const Verdict& verdict = diagnosis.verdict;
    CHECK(verdict.fingerprint == (manner == Recorder::Manner::gloo
                                      ? Fingerprint::gloo_collective_timeout
                                      : Fingerprint::nccl_watchdog_timeout));
    // No log says that it failed: a moment's picture may be all it is.
    CHECK(verdict.confidence == Confidence::medium);
    CHECK(verdict.initiating->rank == 2);
    CHECK(verdict.initiating->group_rank == 2);
    CHECK_THAT(*verdict.initiating->file, ContainsSubstring("nccl_trace_rank_2"));
    CHECK(verdict.initiating->line == 2);
    CHECK(verdict.collateral_ranks == std::vector<int>{0, 1, 3});
    CHECK(verdict.root_cause ==
          "rank 2 has never called all_reduce, number 3 of group 0 (default_pg), in which ranks 0, "
          "1 and 3 wait");
    CHECK(mentions(verdict.why, manner == Recorder::Manner::gloo ? "(not over)" : "(started)"));
    CHECK(mentions(verdict.why, "nccl_trace_rank_2:2) last called all_gather"));
    CHECK(mentions(verdict.missing_evidence, "rank 2's own log"));
    CHECK_THAT(verdict.next_action, ContainsSubstring("Find out what rank 2 does instead"));
    CHECK_FALSE(verdict.fix.empty());
    REQUIRE(diagnosis.findings.size() == 4);
    CHECK(diagnosis.findings[0].role == catalogue::Role::initiating);
    CHECK(diagnosis.findings[1].role == catalogue::Role::collateral);
    CHECK(diagnosis.findings[1].fields.at("seq") == "3");
    CHECK(diagnosis.findings[0].fields.at("op") == "all_reduce");
    if (manner == Recorder::Manner::gloo)
      CHECK_THAT(verdict.fix, ContainsSubstring("instead of all_reduce"));
    CHECK(diagnosis.findings[0].fields.at("last_enqueued") == "2");
    REQUIRE(diagnosis.ranks.size() == 4);
    CHECK(diagnosis.ranks[2].state == "silent");
    CHECK(diagnosis.ranks[3].state == "failed_waiting");
    CHECK(diagnosis.scanned.files == 4);
  }
}

TEST_CASE("dumps: a mismatch names the odd rank with high confidence") {
  const TemporaryFolder folder;
  write_dumps(folder,
              [](Recorder& rank) { rank.all_reduce("0", "started", rank.rank() == 3 ? 8 : 16); });
  const Verdict verdict = of(folder).verdict;
  CHECK(verdict.fingerprint == Fingerprint::collective_desync);
  CHECK(verdict.confidence == Confidence::high);
  CHECK(verdict.initiating->rank == 3);
  CHECK(verdict.root_cause ==
        "rank 3 passes tensors of another size than the others in number 3 of group 0 "
        "(default_pg)");
  CHECK(mentions(verdict.why, "in the dumps, rank 3: all_reduce of [8] Float"));
  CHECK(mentions(verdict.why, "in the dumps, ranks 0, 1 and 2: all_reduce of [16] Float"));
  CHECK(mentions(verdict.why, "called at train.py:12"));
}

TEST_CASE("dumps: beside logs they outrank what timeouts make one guess") {
  const TemporaryFolder folder;
  write_dumps(folder, rank_2_lags);
  // By the logs alone rank 1 would be the one that did not wait.
  for (const int rank : {0, 2, 3}) {
    folder.write(
        "rank" + std::to_string(rank) + ".log",
        "[rank" + std::to_string(rank) + "]:[E ProcessGroupNCCL.cpp:616] [Rank " +
            std::to_string(rank) +
            "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, "
            "OpType=ALLREDUCE, NumelIn=16, NumelOut=16, Timeout(ms)=600000) ran for 600017 "
            "milliseconds before timing out.\n");
  }
  const Verdict verdict = of(folder).verdict;
  CHECK(verdict.fingerprint == Fingerprint::nccl_watchdog_timeout);
  CHECK(verdict.initiating->rank == 2);
  CHECK(verdict.confidence == Confidence::high);
}

TEST_CASE("dumps: an error of a rank's own stays the cause, the dumps are told") {
  const TemporaryFolder folder;
  write_dumps(folder, rank_2_lags);
  folder.write("rank2.log",
               "[rank2]: Traceback (most recent call last):\n[rank2]: ValueError: bad batch\n");
  const Verdict verdict = of(folder).verdict;
  CHECK(verdict.fingerprint == Fingerprint::worker_exit);
  CHECK(verdict.initiating->rank == 2);
  CHECK(mentions(verdict.why,
                 "by the Flight Recorder's dumps of ranks 0 to 3 rank 2 has never called"));
}

TEST_CASE("dumps: healthy ones are no finding") {
  const TemporaryFolder folder;
  write_dumps(folder, [](Recorder& rank) { rank.all_reduce("0"); });
  const Diagnosis diagnosis = of(folder);
  CHECK(diagnosis.verdict.fingerprint == Fingerprint::none);
  CHECK_THAT(diagnosis.verdict.root_cause,
             ContainsSubstring("they called the same, and no collective is open"));
  CHECK(diagnosis.verdict.missing_evidence.empty());
}

TEST_CASE("dumps: where everybody waits in the same place, look below") {
  const TemporaryFolder folder;
  write_dumps(folder, [](Recorder& rank) { rank.all_reduce("0", "started"); });
  const Verdict verdict = of(folder).verdict;
  CHECK(verdict.fingerprint == Fingerprint::nccl_watchdog_timeout);
  CHECK(verdict.confidence == Confidence::low);
  CHECK_FALSE(verdict.initiating);
  CHECK_THAT(verdict.root_cause, ContainsSubstring("look below, at network and devices"));
}

TEST_CASE("dumps: of one rank alone, the others are asked for by name") {
  const TemporaryFolder folder;
  write_dumps(
      folder, [](Recorder& rank) { rank.all_reduce("0", "started"); }, 1, 1);
  const Verdict verdict = of(folder).verdict;
  CHECK(verdict.confidence == Confidence::low);
  CHECK_FALSE(verdict.initiating);
  CHECK(mentions(verdict.missing_evidence,
                 "the dumps of ranks 0, 2 and 3 (nccl_trace_rank_0.json, nccl_trace_rank_2.json, "
                 "nccl_trace_rank_3.json)"));
  CHECK_THAT(verdict.next_action, ContainsSubstring("Get the dumps of ranks 0, 2 and 3"));
}

TEST_CASE("dumps: a broken or hostile one is told and does not hide the others") {
  const TemporaryFolder folder;
  write_dumps(folder, rank_2_lags, 0, 2);
  folder.write("nccl_trace_rank_3",
               "\x80\x02"
               "cos\nsystem\n(X\x02" +
                   std::string(3, '\0') + "idtR.");
  const Diagnosis diagnosis = of(folder);
  CHECK(diagnosis.verdict.initiating->rank == 2);
  CHECK(mentions(diagnosis.unread,
                 "nccl_trace_rank_3, which cannot be read: as a dump of the Flight Recorder: byte "
                 "2: opcode GLOBAL would make the reader load or run code"));
  CHECK(mentions(diagnosis.verdict.missing_evidence, "the dumps of rank 3"));
  Recorder cut(0, Recorder::Manner::nccl);
  cut.group("0", "default_pg", {0, 1});
  cut.all_reduce("0", "started");
  const TemporaryFolder alone;
  const std::string path =
      alone.write("nccl_trace_rank_0", cut.pickle().substr(0, cut.pickle().size() / 2));
  auto sources = logs::find_sources({path});
  const auto failed = engine().run(*sources);
  REQUIRE_FALSE(failed);
  CHECK_THAT(failed.error().text, ContainsSubstring("nccl_trace_rank_0: as a dump of the Flight "
                                                    "Recorder: byte "));
  CHECK_THAT(failed.error().text, ContainsSubstring("the pickle ends early"));
}

TEST_CASE("dumps: packed ones, two of one rank, one of nobody") {
  const TemporaryFolder folder;
  write_dumps(folder, rank_2_lags, 0, 2);
  Recorder last(3, Recorder::Manner::nccl);
  last.group("0", "default_pg", {0, 1, 2, 3});
  last.all_reduce("0");
  folder.write("old/nccl_trace_rank_3", last.pickle());
  last.call("0", "all_gather", {{4}}, {{4, 4}});
  last.all_reduce("0", "started");
  folder.write("nccl_trace_rank_3.gz", test::gzipped(last.pickle()));
  folder.write("dump.json", last.json());
  folder.write("config.json", "{\"version\": 3}");
  const Diagnosis diagnosis = of(folder);
  CHECK(diagnosis.verdict.initiating->rank == 2);
  CHECK(diagnosis.verdict.collateral_ranks == std::vector<int>{0, 1, 3});
  CHECK(mentions(diagnosis.verdict.missing_evidence, "nccl_trace_rank_3.gz, which went further"));
  CHECK(mentions(diagnosis.verdict.missing_evidence, "whose dump"));
  CHECK(diagnosis.scanned.files == 6);
}

TEST_CASE("dumps: what is no dump in a folder is passed over as ever") {
  const TemporaryFolder folder;
  folder.write("config.json", "{\"version\": 3}");
  folder.write("model.pkl", "\x80\x04\x95....");
  auto sources = logs::find_sources({folder.path().string()});
  const auto nothing = engine().run(*sources);
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().text == "there is no log in what was given");
  folder.write("rank0.log", "[rank0]: step 1\n");
  CHECK(of(folder).scanned.files == 1);
  // Lines of JSON are a log.
  folder.write("rank1.log", "{\"version\":\"1.1\",\"message\":\"step 1\"}\n");
  CHECK(of(folder).verdict.fingerprint == Fingerprint::none);
  CHECK(of(folder).scanned.files == 2);
}

TEST_CASE("dumps: printed in every format, redacted or not") {
  const TemporaryFolder folder;
  write_dumps(folder, rank_2_lags);
  Diagnosis diagnosis = of(folder);
  CHECK_THAT(to_text(diagnosis, engine().catalogue(), false),
             ContainsSubstring("nccl_watchdog_timeout  rank 2"));
  CHECK_THAT(to_markdown(diagnosis, engine().catalogue()), ContainsSubstring("rank 2"));
  redact(diagnosis);
  const std::string json = to_json(diagnosis);
  CHECK(json.find(folder.path().string()) == std::string::npos);
  CHECK_THAT(json, ContainsSubstring("rank 2 has never called all_reduce"));
}
