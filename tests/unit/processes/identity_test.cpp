// SPDX-License-Identifier: Apache-2.0
//
// Launchers' variables and command lines into identities.
#include "daemon/processes/identity.h"

#include "tests/support/catch.h"

using namespace collwatch::processes;

TEST_CASE("torchrun's variables: rank, node, job, whether it spans hosts") {
  const auto claimed = claimed_identity({{"RANK", "9"},
                                         {"WORLD_SIZE", "16"},
                                         {"LOCAL_RANK", "1"},
                                         {"LOCAL_WORLD_SIZE", "8"},
                                         {"GROUP_RANK", "1"},
                                         {"MASTER_ADDR", "10.0.0.1"},
                                         {"MASTER_PORT", "29400"},
                                         {"TORCHELASTIC_RUN_ID", "run-17"},
                                         {"TORCHELASTIC_RESTART_COUNT", "2"}});
  REQUIRE(claimed.has_value());
  CHECK(claimed->by_itself);
  CHECK(claimed->identity.rank == 9);
  CHECK(claimed->identity.local_rank == 1);
  CHECK(claimed->identity.node == 1);
  CHECK(claimed->identity.restart == 2);
  CHECK(claimed->identity.master_port == 29400);
  CHECK(claimed->identity.job == "torchrun:run-17");
  CHECK(claimed->identity.spans_hosts == true);
}

TEST_CASE("Slurm and MPI give every program a rank, so theirs does not suffice alone") {
  const auto slurm = claimed_identity({{"SLURM_PROCID", "3"},
                                       {"SLURM_NTASKS", "8"},
                                       {"SLURM_LOCALID", "3"},
                                       {"SLURM_JOB_ID", "4711"},
                                       {"SLURM_NNODES", "1"}});
  REQUIRE(slurm.has_value());
  CHECK_FALSE(slurm->by_itself);
  CHECK(slurm->identity.rank == 3);
  CHECK(slurm->identity.job == "slurm:4711");
  CHECK(slurm->identity.spans_hosts == false);
  const auto mpi = claimed_identity({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  REQUIRE(mpi.has_value());
  CHECK_FALSE(mpi->by_itself);
}

TEST_CASE("what is no rank of its world is no rank") {
  CHECK_FALSE(claimed_identity({}).has_value());
  CHECK_FALSE(claimed_identity({{"RANK", "4"}, {"WORLD_SIZE", "4"}}).has_value());
  CHECK_FALSE(claimed_identity({{"RANK", "-1"}, {"WORLD_SIZE", "4"}}).has_value());
  CHECK_FALSE(claimed_identity({{"RANK", "colonel"}, {"WORLD_SIZE", "4"}}).has_value());
  CHECK_FALSE(claimed_identity({{"RANK", "1"}}).has_value());
}

TEST_CASE("a run id that says none leaves the store's address") {
  const auto claimed = claimed_identity({{"RANK", "0"},
                                         {"WORLD_SIZE", "2"},
                                         {"TORCHELASTIC_RUN_ID", "none"},
                                         {"MASTER_ADDR", "localhost"},
                                         {"MASTER_PORT", "29500"}});
  REQUIRE(claimed.has_value());
  CHECK(claimed->identity.job == "store:localhost:29500");
  CHECK(claimed->identity.spans_hosts == false);
}

TEST_CASE("an allocation of several nodes does not make a job span them") {
  const auto claimed = claimed_identity(
      {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_NNODES", "4"}, {"SLURM_JOB_ID", "1"}});
  REQUIRE(claimed.has_value());
  CHECK_FALSE(claimed->identity.spans_hosts.has_value());
}

TEST_CASE("launchers are told by their program, workers are not launchers") {
  CHECK(is_launcher(
      {"/usr/bin/python3", "/usr/local/bin/torchrun", "--nproc-per-node", "2", "t.py"}));
  CHECK(is_launcher({"python", "-u", "-m", "torch.distributed.run", "t.py"}));
  CHECK(is_launcher({"/usr/bin/mpirun", "-n", "2", "python3", "t.py"}));
  CHECK_FALSE(is_launcher({"python3", "-u", "train.py", "--launcher", "torchrun"}));
  CHECK_FALSE(is_launcher({}));
}

TEST_CASE("a program is its script or module, never an argument") {
  CHECK(program_of({"/usr/bin/python3", "-u", "/home/a/train.py", "--key", "secret"}) ==
        "train.py");
  CHECK(program_of({"python3", "-W", "ignore", "-m", "pkg.train", "--key"}) == "pkg.train");
  CHECK(program_of({"python3", "-c", "import secret"}) == "-c");
  CHECK(program_of({"/opt/bin/trainer", "secret"}) == "trainer");
  CHECK(program_of({}).empty());
}
