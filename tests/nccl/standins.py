# SPDX-License-Identifier: Apache-2.0
#
# Agents whose probes find stand-ins for libnccl, libcuda and NVML (tests/support/standin): a folder
# of links and scripts for each, through LD_LIBRARY_PATH, which a worker keeps.
import os

from ring import Ring, alive, below, read, skip

LIBRARIES = {"nccl": "libnccl.so.2", "cuda": "libcuda.so.1", "nvml": "libnvidia-ml.so.1"}


class Gpus:
    """`names` on loopback; each node's GPUs have PCI ids of their own."""

    def __init__(self, programs, names, probe, watch=""):
        self.ring = Ring(programs, names)
        self.programs = programs
        self.probe, self.watch = probe, watch
        standin = os.path.join(os.path.dirname(os.path.abspath(programs)), "standin")
        if not os.path.exists(os.path.join(standin, LIBRARIES["nccl"])):
            skip("the stand-in libraries are not built (target standins)")
        for index, name in enumerate(names):
            os.mkdir(self.ring.path(name))
            for library in LIBRARIES.values():
                os.symlink(os.path.join(standin, library), self.ring.path(f"{name}/{library}"))
            self.script(name, "cuda", f"bus_base {16 * (index + 1)}\ndevices 1\n")

    def script(self, name, library, lines):
        self.ring.write(f"{name}/{LIBRARIES[library]}.script", lines)

    def start(self, *names, programs=None):
        for name in names or self.ring.agents:
            self.ring.start(name, programs=programs, more=f"probes: {self.probe}\n" + self.watch,
                            environment={"LD_LIBRARY_PATH": self.ring.path(name)})
        return self

    def close(self):
        self.ring.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- what they say

    def results(self, name):
        """(collective, size) -> outcome, of the last NCCL probe."""
        status = self.ring.status(name) or {"collectives": []}
        return {(c["collective"], c["size_bytes"]): c["outcome"] for c in status["collectives"]
                if c["backend"] == "nccl"}

    def runs(self, name, outcome):
        return sum(value for key, value in self.ring.metrics(name).items()
                   if key.startswith('collective_runs_total{backend="nccl"')
                   and f'outcome="{outcome}"' in key)

    def skips(self, name, reason):
        return self.ring.metrics(name).get(
            f'probe_skipped_total{{probe="nccl",reason="{reason}"}}', 0)

    def active(self, name, fingerprint):
        return self.ring.metrics(name).get(f'fingerprint_active{{fingerprint="{fingerprint}"}}') == 1

    def fingerprint(self, name, fingerprint):
        status = self.ring.status(name) or {"fingerprints": []}
        return next((f for f in status["fingerprints"] if f["id"] == fingerprint), None)

    def notes(self, name, state):
        return [e["text"] for e in self.ring.events(name, "worker") if e["state"] == state]

    def probes(self, name):
        """Its living NCCL probes."""
        return [p for p in below(self.ring.agents[name].pid)
                if read(f"/proc/{p}/comm").startswith("collwatch-probe") and alive(p)
                and read(f"/proc/{p}/cmdline").rstrip("\0").endswith("collwatch-probe-nccl")]
