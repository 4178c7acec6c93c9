// SPDX-License-Identifier: Apache-2.0
//
// Stories of several ranks in NCCL's and in Gloo's manner, and the real dumps of Gloo jobs (PyTorch
// 2.14) under tests/cases/flight.
#include "daemon/flight/analyse.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/flight_dumps.h"

using namespace collwatch;
using flight::Analysis;
using flight::Finding;
using test::Recorder;
using Ranks = std::set<int>;
namespace fs = std::filesystem;

namespace {

constexpr Recorder::Manner kManners[] = {Recorder::Manner::nccl, Recorder::Manner::gloo};

struct Analysed {
  flight::Words words;
  std::vector<flight::RankDump> dumps;
  Analysis result;

  void add(int rank, const std::string& file, const std::string& bytes) {
    auto dump = flight::read_dump(bytes, words);
    if (!dump) std::cerr << dump.error().text << "\n";
    REQUIRE(dump);
    dumps.push_back({rank, file, std::move(*dump)});
  }
  void run(std::optional<int> world = std::nullopt) {
    result = flight::analyse(dumps, world, words);
  }
};

using Story = std::function<void(Recorder&)>;

/// What ranks 0 to `size` - 1 tell, those in `gone` left out.
std::unique_ptr<Analysed> told(Recorder::Manner manner, int size, const Story& story,
                               const Ranks& gone = {}) {
  auto all = std::make_unique<Analysed>();
  std::vector<int> everybody;
  for (int rank = 0; rank < size; ++rank) everybody.push_back(rank);
  for (int rank = 0; rank < size; ++rank) {
    if (gone.count(rank) != 0) continue;
    Recorder recorder(rank, manner);
    recorder.group("0", "default_pg", everybody);
    recorder.all_reduce("0");
    recorder.call("0", "all_gather", {{4}}, {{size, 4}});
    story(recorder);
    all->add(rank, "nccl_trace_rank_" + std::to_string(rank),
             rank % 2 == 0 ? recorder.pickle() : recorder.json());
  }
  all->run();
  return all;
}

std::unique_ptr<Analysed> real(const std::string& name) {
  auto all = std::make_unique<Analysed>();
  const fs::path folder = fs::path(COLLWATCH_SOURCE_DIR) / "tests/cases/flight" / name;
  for (const auto& file : fs::directory_iterator(folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    all->add(*flight::rank_of_name(file.path().string()), file.path().filename(), bytes.str());
  }
  all->run();
  return all;
}

}  // namespace

TEST_CASE("analyse: a healthy job, all over or all in the same place") {
  for (const auto manner : kManners) {
    const auto over = told(manner, 4, [](Recorder& rank) { rank.all_reduce("0"); });
    CHECK(over->result.main.finding == Finding::nothing);
    CHECK(over->result.absent.empty());
    const auto open = told(manner, 4, [](Recorder& rank) { rank.all_reduce("0", "started"); });
    CHECK(open->result.main.finding == Finding::frozen);
    CHECK(open->result.main.odd.empty());
    CHECK(open->result.main.waiting == Ranks{0, 1, 2, 3});
    CHECK(open->result.main.backend == (manner == Recorder::Manner::gloo ? "gloo" : "nccl"));
    CHECK(open->result.main.seq == 3);
  }
}

TEST_CASE("analyse: ranks at different places of a job that runs are no finding") {
  const auto job = told(Recorder::Manner::nccl, 3, [](Recorder& rank) {
    for (int i = 0; i < rank.rank(); ++i) rank.all_reduce("0");
  });
  CHECK(job->result.main.finding == Finding::nothing);
}

TEST_CASE("analyse: who calls another operation, size or type is named by majority") {
  for (const auto manner : kManners) {
    struct Row {
      const char* what;
      Story story;
    };
    const std::vector<Row> rows = {
        {"operation",
         [](Recorder& rank) {
           if (rank.rank() == 0) {
             rank.call("0", "broadcast", {{16}}, {{16}}, "started");
           } else {
             rank.all_reduce("0", "started");
           }
         }},
        {"size",
         [](Recorder& rank) { rank.all_reduce("0", "started", rank.rank() == 0 ? 17 : 16); }},
        {"type", [](Recorder& rank) {
           rank.all_reduce("0", "completed", 16, rank.rank() == 0 ? "Int" : "Float");
         }}};
    for (const Row& row : rows) {
      const auto job = told(manner, 4, row.story);
      INFO(row.what);
      CHECK(job->result.main.finding == Finding::mismatch);
      CHECK(job->result.main.what == row.what);
      CHECK(job->result.main.odd == Ranks{0});
      CHECK(job->result.main.group_rank == 0);
      CHECK(job->result.main.seq == 3);
      CHECK(job->result.main.opinions.size() == 2);
      REQUIRE(job->result.main.sights.size() == 4);
      CHECK(job->result.main.sights[0].rank == 0);
      CHECK(job->result.main.sights[0].number == 3);
      CHECK(job->result.main.sights[0].code == "train.py:12");
    }
  }
}

TEST_CASE("analyse: of two that differ nobody is named") {
  const auto job = told(Recorder::Manner::nccl, 2,
                        [](Recorder& rank) { rank.all_reduce("0", "started", 16 + rank.rank()); });
  CHECK(job->result.main.finding == Finding::mismatch);
  CHECK(job->result.main.odd.empty());
  CHECK_FALSE(job->result.main.group_rank);
}

TEST_CASE("analyse: what legally differs between ranks is no mismatch") {
  for (const auto manner : kManners) {
    const auto job = told(manner, 3, [](Recorder& rank) {
      const bool root = rank.rank() == 0;
      const std::int64_t own = 2 + rank.rank();
      using Shapes = Recorder::Shapes;
      rank.call("0", "gather", {{3}}, root ? Shapes{{3}, {3}, {3}} : Shapes{});
      rank.call("0", "scatter", root ? Shapes{{3}, {3}, {3}} : Shapes{}, {{3}});
      rank.call("0", "reduce", {{5}}, root ? Shapes{{5}} : Shapes{});
      rank.call("0", "all_gather", {{own}}, {{2}, {3}, {4}});
      rank.call("0", "reduce_scatter", {{2}, {3}, {4}}, {{own}});
      rank.call("0", "all_to_all", {{own * 2}}, {{6}});  // 4 + 6 + 8 in, 18 out
      rank.call("0", "barrier", {}, {});
      // The same elements in another shape are the same message.
      rank.call("0", "all_reduce", root ? Shapes{{4, 4}} : Shapes{{16}}, {{16}});
    });
    CHECK(job->result.main.finding == Finding::nothing);
  }
}

TEST_CASE("analyse: a batch of sends and receives has no part in the numbers of collectives") {
  auto all = std::make_unique<Analysed>();
  for (int rank = 0; rank < 3; ++rank) {
    Recorder recorder(rank, Recorder::Manner::nccl);
    recorder.group("0", "default_pg", {0, 1, 2});
    recorder.all_reduce("0");
    auto dump = recorder.dump();
    if (rank == 1) {
      for (const bool is_end : {false, true}) {
        auto entry = dump["entries"][0];
        entry["record_id"] = is_end ? 2 : 1;
        entry["is_p2p"] = !is_end;
        entry["profiling_name"] = is_end ? "nccl:coalesced" : "nccl:send 1->2";
        dump["entries"].push_back(entry);
      }
    }
    all->add(rank, "nccl_trace_rank_" + std::to_string(rank), dump.dump());
  }
  all->run();
  CHECK(all->result.main.finding == Finding::nothing);
}

TEST_CASE("analyse: of the oldest entry of a full ring nobody knows whether it is whole") {
  auto all = std::make_unique<Analysed>();
  for (int rank = 0; rank < 3; ++rank) {
    Recorder recorder(rank, Recorder::Manner::nccl);
    recorder.group("0", "default_pg", {0, 1, 2});
    recorder.all_reduce("0");
    recorder.call("0", "all_gather", {{4}}, {{3, 4}});
    auto dump = recorder.dump();
    // The two under one number, as in a group of calls; rank 2's ring has lost the first.
    dump["entries"][1]["collective_seq_id"] = 1;
    if (rank == 2) dump["entries"].erase(0);
    all->add(rank, "nccl_trace_rank_" + std::to_string(rank), dump.dump());
  }
  all->run();
  CHECK(all->result.main.finding == Finding::nothing);
}

TEST_CASE("analyse: an all-to-all whose sums differ is a mismatch without a culprit") {
  const auto job = told(Recorder::Manner::nccl, 3, [](Recorder& rank) {
    rank.call("0", "all_to_all", {{rank.rank() == 1 ? 7 : 6}}, {{6}}, "started");
  });
  CHECK(job->result.main.finding == Finding::mismatch);
  CHECK(job->result.main.odd.empty());
}

TEST_CASE("analyse: who never called it lags") {
  for (const auto manner : kManners) {
    const auto job = told(manner, 4, [](Recorder& rank) {
      if (rank.rank() == 2) return;
      rank.all_reduce("0", "started");
      rank.all_reduce("0", "scheduled");
    });
    CHECK(job->result.main.finding == Finding::lagging);
    CHECK(job->result.main.odd == Ranks{2});
    CHECK(job->result.main.waiting == Ranks{0, 1, 3});
    CHECK(job->result.main.seq == 3);
    INFO(job->result.main.sights[0].text);
    CHECK(job->result.main.sights[0].text.find("last called all_gather of [4] into [4, 4] Float") ==
          0);
    CHECK(job->result.main.sights[0].completed == 2);
  }
}

TEST_CASE("analyse: a full ring hides what came before, and accuses nobody of it") {
  // Rank 2 has called so much in another group that nothing of this one is left in its ring.
  const auto hidden = told(Recorder::Manner::nccl, 3, [](Recorder& rank) {
    if (rank.rank() != 2) rank.all_reduce("0", "started");
  });
  CHECK(hidden->result.main.odd == Ranks{2});
  auto all = std::make_unique<Analysed>();
  for (int rank = 0; rank < 3; ++rank) {
    Recorder recorder(rank, Recorder::Manner::nccl);
    recorder.group("0", "default_pg", {0, 1, 2});
    recorder.group("1", "own", {rank});
    recorder.forget(5000, "1", 5000);
    if (rank == 2) {
      recorder.all_reduce("1");
    } else {
      recorder.all_reduce("0", "started");
    }
    auto dump = recorder.dump();
    dump.erase("pg_status");
    all->add(rank, "nccl_trace_rank_" + std::to_string(rank), dump.dump());
  }
  all->run();
  CHECK(all->result.main.odd.empty());
}

TEST_CASE("analyse: a member without a dump is missing, and its file is named") {
  for (const auto manner : kManners) {
    const auto job = told(manner, 4, [](Recorder& rank) { rank.all_reduce("0", "started"); }, {1});
    CHECK(job->result.main.finding == Finding::missing);
    CHECK(job->result.main.odd == Ranks{1});
    CHECK(job->result.absent == Ranks{1});
    CHECK(job->result.to_fetch == std::vector<std::string>{"nccl_trace_rank_1"});
    const auto one =
        told(manner, 4, [](Recorder& rank) { rank.all_reduce("0", "started"); }, {0, 1, 2});
    CHECK(one->result.main.finding == Finding::missing);
    CHECK(one->result.absent == Ranks{0, 1, 2});
    CHECK(one->result.to_fetch.size() == 3);
  }
}

TEST_CASE("analyse: states that differ") {
  const auto blocked = told(Recorder::Manner::nccl, 3, [](Recorder& rank) {
    rank.all_reduce("0", rank.rank() == 1 ? "scheduled" : "started");
  });
  CHECK(blocked->result.main.finding == Finding::state);
  CHECK(blocked->result.main.what == "started");
  CHECK(blocked->result.main.odd == Ranks{1});
  for (const auto manner : kManners) {
    const auto late = told(manner, 3, [](Recorder& rank) {
      rank.all_reduce("0", rank.rank() == 2 ? "started" : "completed");
    });
    CHECK(late->result.main.finding == Finding::state);
    CHECK(late->result.main.what == "completed");
    CHECK(late->result.main.odd == Ranks{2});
  }
}

TEST_CASE("analyse: of several groups the one where it began is first") {
  // Rank 3 never comes to its pair; so rank 2 is missed by everybody.
  const auto job = told(Recorder::Manner::nccl, 4, [](Recorder& rank) {
    rank.group("5", "tp", {2, 3});
    if (rank.rank() == 2) rank.all_reduce("5", "started");
    if (rank.rank() < 2) rank.all_reduce("0", "started");
  });
  CHECK(job->result.main.finding == Finding::lagging);
  CHECK(job->result.main.odd == Ranks{3});
  CHECK(job->result.others.size() == 1);
  // In the pair, group rank 1 is global rank 3.
  const auto pair = told(Recorder::Manner::nccl, 4, [](Recorder& rank) {
    rank.group("5", "tp", {2, 3});
    if (rank.rank() >= 2) rank.all_reduce("5", "started", rank.rank() == 3 ? 5 : 4);
  });
  CHECK(pair->result.main.finding == Finding::mismatch);
  CHECK(pair->result.main.waiting == Ranks{2, 3});
}

TEST_CASE("analyse: groups used in another order are a circle") {
  const auto job = told(Recorder::Manner::nccl, 2, [](Recorder& rank) {
    rank.group("1", "a", {0, 1});
    rank.group("2", "b", {0, 1});
    rank.all_reduce(rank.rank() == 0 ? "1" : "2", "started");
  });
  CHECK(job->result.main.finding == Finding::crossed);
}

TEST_CASE("analyse: real dumps of Gloo jobs") {
  struct Row {
    const char* name;
    Finding finding;
    const char* what;
    Ranks odd;
    std::int64_t seq;
  };
  const std::vector<Row> rows = {{"gloo-healthy", Finding::nothing, "", {}, -1},
                                 {"gloo-lagging", Finding::lagging, "", {1}, 9},
                                 {"gloo-lagging-async", Finding::lagging, "", {1}, 9},
                                 {"gloo-lagging-elsewhere", Finding::lagging, "", {1}, 9},
                                 {"gloo-operation", Finding::mismatch, "operation", {1}, 9},
                                 {"gloo-type", Finding::mismatch, "type", {2}, 9},
                                 {"gloo-size", Finding::mismatch, "size", {}, 9}};
  for (const Row& row : rows) {
    const auto job = real(row.name);
    INFO(row.name);
    CHECK(job->result.main.finding == row.finding);
    CHECK(job->result.main.what == row.what);
    CHECK(job->result.main.odd == row.odd);
    CHECK(job->result.main.seq == row.seq);
  }
  const auto size = real("gloo-size");
  CHECK(size->result.absent == Ranks{0});
  CHECK(size->result.to_fetch == std::vector<std::string>{"nccl_trace_rank_0.json"});
}
