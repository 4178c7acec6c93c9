# SPDX-License-Identifier: Apache-2.0
#
# One rank of a real PyTorch job for torch_job: allreduces for ever over Gloo. When that fails it says
# so, as any script does, and then stays, as jobs do whose clean-up hangs.
import datetime
import sys
import time
import traceback

import torch
import torch.distributed as dist

STAYS = 120  # seconds; the test ends it by its pid long before


def train():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    values = torch.ones(1 << 16)
    step = 0
    while True:
        dist.all_reduce(values)
        values /= dist.get_world_size()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {1.0 / step:.4f}", flush=True)
        time.sleep(0.002)


try:
    train()
except RuntimeError:
    traceback.print_exc()
    sys.stderr.flush()
# The error is gone, and with it what held the group: its connections are closed. Else a neighbour of ours
# that shares no pair with the lost rank would wait in silence for its timeout, and the logs could not tell
# the two apart.
dist.destroy_process_group()
time.sleep(STAYS)
