# SPDX-License-Identifier: Apache-2.0
#
# Plays the daemon to one or two collwatch-probe-nccl on a real GPU and prints a table; started by
# run.sh. The load beside it is PyTorch's matrix product where torch with CUDA is installed, else that
# part is left out and said so. Every wait has a bound, every process is ended by its pid.
import json
import os
import select
import socket
import subprocess
import sys
import time

STEP_SECONDS = 60
ROWS = []


def row(what, value):
    ROWS.append((what, value))
    print(f"{what:<52} {value}", flush=True)


class Probe:
    def __init__(self, program):
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The worker reads descriptor 3.
        command = ["bash", "-c", f'exec "$0" 3<&{theirs.fileno()} 3>&{theirs.fileno()}', program]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        theirs.close()

    def send(self, message):
        self.channel.send(json.dumps(message).encode())

    def next(self, seconds=STEP_SECONDS):
        ready, _, _ = select.select([self.channel], [], [], seconds)
        packet = self.channel.recv(65536) if ready else b""
        return json.loads(packet) if packet else None

    def until(self, *types):
        """The messages up to one of these types, that one last; what there is when it ends."""
        seen = []
        while message := self.next():
            seen.append(message)
            if message["type"] in types:
                break
        return seen

    def prepare(self, always=False):
        self.send({"type": "nccl_prepare", "v": 1, "node": "gpu", "library": LIBRARY,
                   "job_library": "", "job_pid": 0, "beside_jobs": always, "timeout_ms": 30000})
        return (self.until("nccl_prepared", "nccl_skipped", "nccl_report") or [{"type": "nothing"}])[-1]

    def run(self, ranks, rung="local", first=0, uid=""):
        self.send({"type": "nccl_run", "round": 1, "rung": rung, "device": 0, "first_rank": first,
                   "ranks": ranks, "id": uid, "timeout_ms": 30000, "sizes": [4, 1048576]})

    def reports(self):
        return [m for m in self.until("nccl_done") if m["type"] in ("nccl_report", "nccl_done")]

    def close(self):
        self.channel.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


LIBRARY = os.environ.get("COLLWATCH_REAL_NCCL", "auto")
if LIBRARY == "auto" and os.path.exists("/usr/local/cuda/lib64/libnccl.so.2"):
    LIBRARY = "/usr/local/cuda/lib64/libnccl.so.2"


def alone(program):
    begun = time.monotonic()
    probe = Probe(program)
    try:
        prepared = probe.prepare()
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
    probes = [Probe(program), Probe(program)]
    try:
        prepared = [p.prepare(always=True) for p in probes]
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
            probe = Probe(program)
            prepared = probe.prepare(always=always)
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
