# SPDX-License-Identifier: Apache-2.0
#
# What this machine's PyTorch does when a job gives tensors on a GPU to Gloo: every operation by two
# processes of its own, its values verified or its words printed; and what the way through the host's
# memory costs. Prints a table. `--device cpu` is the same without a GPU, to try this script itself.
# Skips (exit 77) where torch, or a GPU that it sees, is missing. Every child is bounded and ended by
# its pid.
import argparse
import datetime
import multiprocessing
import socket
import sys
import time

SECONDS = 40  # one operation, both processes
MEGABYTES = 64
WORLD = 2


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def tensors(torch, device, rank):
    return torch.full((1024,), float(rank + 1), device=device)


def same(torch, found, wanted):
    if not torch.equal(found.cpu(), wanted):
        raise ValueError(f"WRONG VALUES: {found.flatten()[:2].tolist()}, not {wanted.flatten()[:2].tolist()}")


def all_reduce(torch, dist, device, rank):
    values = tensors(torch, device, rank)
    dist.all_reduce(values)
    same(torch, values, torch.full((1024,), 3.0))


def average(torch, dist, device, rank):
    values = tensors(torch, device, rank)
    dist.all_reduce(values, op=dist.ReduceOp.AVG)
    same(torch, values, torch.full((1024,), 1.5))


def broadcast(torch, dist, device, rank):
    values = tensors(torch, device, rank)
    dist.broadcast(values, 1)
    same(torch, values, torch.full((1024,), 2.0))


def all_gather(torch, dist, device, rank):
    parts = [torch.zeros(1024, device=device) for _ in range(WORLD)]
    dist.all_gather(parts, tensors(torch, device, rank))
    for other in range(WORLD):
        same(torch, parts[other], torch.full((1024,), other + 1.0))


def reduce_scatter(torch, dist, device, rank):
    part = torch.zeros(1024, device=device)
    dist.reduce_scatter(part, [tensors(torch, device, rank) for _ in range(WORLD)])
    same(torch, part, torch.full((1024,), 3.0))


def all_to_all(torch, dist, device, rank):
    part = torch.zeros(1024, device=device)
    dist.all_to_all_single(part, tensors(torch, device, rank))
    same(torch, part, torch.cat([torch.full((512,), 1.0), torch.full((512,), 2.0)]))


def gather(torch, dist, device, rank):
    parts = [torch.zeros(1024, device=device) for _ in range(WORLD)] if rank == 0 else None
    dist.gather(tensors(torch, device, rank), parts, 0)
    if rank == 0:
        same(torch, parts[1], torch.full((1024,), 2.0))


def send_and_recv(torch, dist, device, rank):
    values = tensors(torch, device, rank)
    if rank == 0:
        dist.send(values, 1)
    else:
        dist.recv(values, 0)
        same(torch, values, torch.full((1024,), 1.0))


def barrier(torch, dist, device, rank):
    dist.barrier()


OPERATIONS = [all_reduce, average, broadcast, all_gather, reduce_scatter, all_to_all, gather,
              send_and_recv, barrier]


def timed(torch, dist, device, rank):
    """Median milliseconds of an all_reduce of MEGABYTES."""
    values = torch.ones(MEGABYTES << 18, device=device)
    took = []
    for _ in range(9):
        if device == "cuda":
            torch.cuda.synchronize()
        begun = time.monotonic()
        dist.all_reduce(values)
        if device == "cuda":
            torch.cuda.synchronize()
        took.append(time.monotonic() - begun)
    return f"{sorted(took)[len(took) // 2] * 1000:.1f}"


def one_rank(work, device, rank, port, words):
    try:
        import torch
        import torch.distributed as dist
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank,
                                world_size=WORLD, timeout=datetime.timedelta(seconds=SECONDS // 2))
        said = work(torch, dist, device, rank)
        words.put((rank, True, said or "ok, values verified"))
    except Exception as failure:  # pylint: disable=broad-except
        words.put((rank, False, f"{type(failure).__name__}: {str(failure).splitlines()[0][:160]}"))


def pair(work, device):
    """What rank 0 said, else rank 1, else how they ended."""
    context = multiprocessing.get_context("spawn")
    words, port = context.Queue(), free_port()
    ranks = [context.Process(target=one_rank, args=(work, device, rank, port, words))
             for rank in range(WORLD)]
    for rank in ranks:
        rank.start()
    end, said = time.monotonic() + SECONDS, []
    while len(said) < WORLD and time.monotonic() < end:
        try:
            said.append(words.get(timeout=0.2))
        except Exception:  # pylint: disable=broad-except
            if all(rank.exitcode is not None for rank in ranks):
                break
    for rank in ranks:
        rank.kill()
        rank.join()
    failed = sorted(each for each in said if not each[1])
    if failed:
        return failed[0][2]
    if len(said) < WORLD:
        return "died or hung: exit codes " + ", ".join(str(rank.exitcode) for rank in ranks)
    return sorted(said)[0][2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    device = parser.parse_args().device
    try:
        import torch
    except ImportError as missing:
        print(f"SKIPPED: Gloo with tensors on a GPU: {missing}")
        return 77
    if device == "cuda" and not torch.cuda.is_available():
        print(f"SKIPPED: Gloo with tensors on a GPU: torch {torch.__version__} sees no GPU")
        return 77
    print(f"Gloo of torch {torch.__version__}, tensors on {device}")
    for operation in OPERATIONS:
        print(f"  {operation.__name__:<50} {pair(operation, device)}", flush=True)
    host, there = pair(timed, "cpu"), pair(timed, device)
    print(f"  {f'all_reduce of {MEGABYTES} MiB, host memory, ms':<50} {host}")
    print(f"  {f'all_reduce of {MEGABYTES} MiB, on {device}, ms':<50} {there}")
    print("  beside NCCL: left out, two ranks of NCCL need two GPUs"
          if device == "cuda" and torch.cuda.device_count() < WORLD else
          "  beside NCCL: the table of the probe above")
    return 0


if __name__ == "__main__":
    sys.exit(main())
