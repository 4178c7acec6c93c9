# SPDX-License-Identifier: Apache-2.0
#
# One rank of a real PyTorch job for torch_misuse: a few good steps over Gloo, then the misuse that its
# argument names, then whatever PyTorch makes of it. What a job does wrong, nothing of ours.
import datetime
import sys

import torch
import torch.distributed as dist

STEPS = 20


def unsupported_op(rank, world):
    output = torch.zeros(4)
    dist.reduce_scatter(output, [torch.ones(4) for _ in range(world)])


def wrong_dtype(rank, world):
    dist.all_reduce(torch.ones(4, dtype=torch.complex64).to(torch.bool))


def average(rank, world):
    dist.all_reduce(torch.ones(4), op=dist.ReduceOp.AVG)


def mismatched_shapes(rank, world):
    dist.all_reduce(torch.ones(1000 if rank == 0 else 2000))


def gpu_tensor(rank, world):
    dist.all_gather([torch.zeros(4, device="cuda") for _ in range(world)], torch.ones(4, device="cuda"))


MISUSES = {f.__name__: f for f in (unsupported_op, wrong_dtype, average, mismatched_shapes, gpu_tensor)}


def main():
    misuse = MISUSES[sys.argv[1]]
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    values = torch.ones(1 << 10)
    for step in range(STEPS):
        dist.all_reduce(values)
        values /= dist.get_world_size()
        print(f"step {step} loss {1.0 / (step + 1):.4f}", flush=True)
    misuse(dist.get_rank(), dist.get_world_size())
    print("the misuse went through", flush=True)


main()
