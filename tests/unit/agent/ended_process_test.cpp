// SPDX-License-Identifier: Apache-2.0
//
// The driver's word about a process that was killed, and every other that only looks like it.
#include "daemon/agent/ended_process.h"

#include "tests/support/catch.h"

using collwatch::agent::ended_process;

TEST_CASE("only Xid 43 and 45 speak of a process that was ended") {
  CHECK(ended_process("NVRM: Xid (PCI:0000:18:00): 45, pid=2066, name=python3, Ch 00000008") ==
        2066);
  CHECK(ended_process("[ 1.5] NVRM: Xid (PCI:0000:18:00): 43, pid='77', name=x, Ch 8") == 77);
  CHECK(ended_process("NVRM: Xid (0000:18:00 GPU-I:00 GPU-CI:01): 45, pid=5, name=x") == 5);
  // A GPU's own fault stays one, whoever was on it.
  CHECK(ended_process("NVRM: Xid (PCI:0000:18:00): 48, pid=2066, name=x, DBE ECC Error") == 0);
  CHECK(ended_process("NVRM: Xid (PCI:0000:18:00): 145, pid=2066, name=x") == 0);
  CHECK(ended_process("NVRM: Xid (PCI:0000:18:00): 4, pid=45, name=x") == 0);
  CHECK(ended_process("NVRM: Xid (PCI:0000:18:00): 45, pid='<unknown>', name=<unknown>") == 0);
  CHECK(ended_process("NVRM: Xid (PCI:0000:18:00): 45") == 0);
  CHECK(ended_process("NVRM: Xid (PCI:0000:18:00): 45, pid=") == 0);
  CHECK(ended_process("pid=2066 wrote ): 45, pid=2066") == 0);
  CHECK(ended_process("NVRM: Xid (PCI") == 0);
  CHECK(ended_process("") == 0);
}
