# SPDX-License-Identifier: Apache-2.0
#
# Plays the daemon to one or two collwatch-probe-nccl on a real GPU and prints a table; started by
# run.sh. The load beside it is PyTorch's matrix product where torch with CUDA is installed, else that
# part is left out and said so. Every wait has a bound, every process is ended by its pid.
import os
import select
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "nccl"))
from worker import Worker  # noqa: E402

ROWS = []


def row(what, value):
    ROWS.append((what, value))
    print(f"{what:<52} {value}", flush=True)


LIBRARY = os.environ.get("COLLWATCH_NCCL_LIBRARY", "auto")
if LIBRARY == "auto" and os.path.exists("/usr/local/cuda/lib64/libnccl.so.2"):
    LIBRARY = "/usr/local/cuda/lib64/libnccl.so.2"


def alone(program):
    begun = time.monotonic()
    probe = Worker(program)
    try:
        prepared = probe.prepare(LIBRARY)
        if prepared["type"] != "nccl_prepared":
            row("prepare", f"{prepared}")
            return False
        row("library", f"NCCL {prepared['nccl']} for CUDA {prepared['cuda']}, driver {prepared['driver']}")
        row("GPUs", "; ".join(f"{d['name']} {d['bus']} {d['troubles']}" for d in prepared["devices"]))
        row("prepared after", f"{time.monotonic() - begun:.2f} s")
        free = memory_free()
        probe.run(len(prepared["devices"]))
        least = free
        seen = []
        while message := probe.next():
            seen.append(message)
            least = min(least, memory_free()) if message["type"] == "nccl_phase" else least
            if message["type"] == "nccl_done":
                break
        bad = [m for m in seen if m["type"] == "nccl_report" and m["outcome"] != "ok"]
        for report in (m for m in seen if m["type"] == "nccl_report"):
            row(f"{report['collective']} of {report['size_bytes']} bytes",
                f"{report['outcome']}: {report['duration_us']} us wall, {report['device_us']} us "
                f"device {report['text']}")
        row("whole probe", f"{time.monotonic() - begun:.2f} s")
        row("GPU memory it took at most, as seen between steps", f"{free - least} MiB")
        return not bad and bool(seen) and seen[-1]["type"] == "nccl_done"
    finally:
        probe.close()


def twice(program):
    """Two ranks on one GPU: NCCL itself refuses, and says so."""
    probes = [Worker(program), Worker(program)]
    try:
        prepared = [p.prepare(LIBRARY, always=True) for p in probes]
        if any(p["type"] != "nccl_prepared" for p in prepared):
            row("same GPU twice", f"not tried: {prepared}")
            return False
        for rank, probe in enumerate(probes):
            probe.run(2, "rail", rank, prepared[0]["ids"][0])
        last = [(p.reports() or [{}])[-1] for p in probes]
        for report in last:
            row("same GPU twice", f"{report.get('outcome')}, {report.get('fingerprint')}: "
                                  f"{report.get('text')}")
        return all(r.get("fingerprint") == "nccl_duplicate_gpu" for r in last)
    finally:
        for probe in probes:
            probe.close()


def memory_free():
    out = subprocess.run(["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"],
                         capture_output=True, text=True, timeout=20, check=False).stdout
    return int(out.split()[0]) if out.split() else 0


LOOP = """
import time, torch
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
for _ in range(20): b = a @ a
torch.cuda.synchronize()
print("ready", flush=True)
while True:
    begun = time.monotonic()
    for _ in range(20): b = a @ a
    torch.cuda.synchronize()
    print(time.monotonic() - begun, flush=True)
"""


def beside_a_load(program):
    """Iterations of a loop of matrix products alone, beside idle-mode (refused) and always-mode."""
    load = subprocess.Popen([sys.executable, "-c", LOOP], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    try:
        if load.stdout.readline().strip() != "ready":
            row("beside a loop of matrix products", "left out: no torch with CUDA here")
            return True

        def loops(seconds, during=lambda: None):
            end, times = time.monotonic() + seconds, []
            during()
            while time.monotonic() < end:
                times.append(float(load.stdout.readline()))
            times.sort()
            return times[len(times) // 2], times[-1]

        def probing(always, answers):
            probe = Worker(program)
            prepared = probe.prepare(LIBRARY, always=always)
            answers.append(prepared["type"] + " " + prepared.get("reason", ""))
            if prepared["type"] == "nccl_prepared":
                probe.run(len(prepared["devices"]))
                answers.append(str(len(probe.reports())))
            probe.close()

        def beside(always):
            answers = []
            while select.select([load.stdout], [], [], 0)[0]:
                load.stdout.readline()
            median, worst = loops(10, lambda: probing(always, answers))
            return f"median {1e3 * median:.2f} ms, worst {1e3 * worst:.2f} ms ({', '.join(answers)})"

        median, worst = loops(10)
        row("loop alone", f"median {1e3 * median:.2f} ms, worst {1e3 * worst:.2f} ms")
        row("loop beside an idle-mode probe", beside(False))
        row("loop beside an always-mode probe", beside(True))
        return True
    finally:
        load.kill()
        load.wait()


def main():
    program = os.path.abspath(sys.argv[1])
    results = {"alone": alone(program), "same GPU twice": twice(program),
               "beside a load": beside_a_load(program)}
    for what, good in results.items():
        print(f"{'ok' if good else 'FAILED'}: {what}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
