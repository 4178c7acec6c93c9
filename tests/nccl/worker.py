# SPDX-License-Identifier: Apache-2.0
#
# One collwatch-probe-nccl, and the daemon's side of its channel: packets of JSON on descriptor 3. Every
# wait has a bound, and the process is ended by its pid.
import json
import select
import socket
import subprocess
import time


class Worker:
    def __init__(self, program, environment=None, output=subprocess.DEVNULL):
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The worker reads descriptor 3.
        command = ["bash", "-c", f'exec "$0" 3<&{theirs.fileno()} 3>&{theirs.fileno()}', program]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment,
                                        stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        theirs.close()

    def send(self, message):
        self.channel.send(json.dumps(message).encode())

    def next(self, seconds=60):
        """The next message; None when the time is over or the worker has ended."""
        ready, _, _ = select.select([self.channel], [], [], seconds)
        try:
            packet = self.channel.recv(65536) if ready else b""
        except ConnectionResetError:
            packet = b""
        return json.loads(packet) if packet else None

    def until(self, *types):
        """The messages up to one of these types, that one last; what there is when it ends."""
        seen = []
        while message := self.next():
            seen.append(message)
            if message["type"] in types:
                break
        return seen

    def prepare(self, library, always=False, timeout_ms=30000):
        self.send({"type": "nccl_prepare", "v": 1, "node": "n", "library": library,
                   "job_library": "", "job_pid": 0, "beside_jobs": always, "timeout_ms": timeout_ms})
        ends = ("nccl_prepared", "nccl_skipped", "nccl_report", "nccl_error")
        return (self.until(*ends) or [{"type": "nothing"}])[-1]

    def run(self, ranks, rung="local", first=0, uid="", timeout_ms=30000):
        self.send({"type": "nccl_run", "round": 1, "rung": rung, "device": 0, "first_rank": first,
                   "ranks": ranks, "id": uid, "timeout_ms": timeout_ms, "sizes": [4, 1048576]})

    def reports(self):
        return [m for m in self.until("nccl_done") if m["type"] in ("nccl_report", "nccl_done")]

    def memory_kib(self):
        """What it holds, and has held at most."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            rows = dict(line.split(":", 1) for line in file if ":" in line)
        return int(rows["VmRSS"].split()[0]), int(rows["VmHWM"].split()[0])

    def end(self, seconds=60):
        """Its return code once it has ended by itself; None: it had to be killed."""
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        return self.process.poll()

    def close(self):
        self.channel.close()
        if self.end(5) is None:
            self.process.kill()
        self.process.wait()
