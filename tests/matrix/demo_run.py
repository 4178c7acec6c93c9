# SPDX-License-Identifier: Apache-2.0
#
# Runs one `collwatch demo --json` to its end and hands back what it said: its events, its summary,
# its exit code. Used by the fault matrix (run) and the silence test (quiet). A demo that outstays
# its own duration by far is ended, first politely; it is the only process that is ever signalled.
import json
import os
import select
import signal
import subprocess
import time

# Joining takes seconds; a demo gives up on it by itself after a minute.
JOIN_SECONDS = 75


class Outcome:
    def __init__(self, command):
        self.command = command
        self.events = []  # every JSON line but the summary
        self.summary = None
        self.code = None
        self.complaint = ""  # what came on standard error

    def of(self, event):
        return [e for e in self.events if e.get("event") == event]

    def sentence(self):
        return " ".join(e["text"] for e in self.of("end"))

    def misses(self):
        return [e["text"] for e in self.of("miss")]


def program(folder):
    return os.path.join(os.path.abspath(folder), "collwatch")


def demo_command(folder, nodes, faults, duration, loopback, network=None):
    command = [program(folder), "demo", "--json", "--nodes", str(nodes), "--duration", f"{duration}s"]
    for fault in faults:
        command += ["--fault", fault]
    if network:
        command += ["--network", network]
    return command + (["--loopback"] if loopback else [])


def take(outcome, line):
    try:
        value = json.loads(line)
    except ValueError:
        outcome.complaint += f"no JSON: {line!r}\n"
        return
    if "innocent_pages" in value:
        outcome.summary = value
    else:
        outcome.events.append(value)


def run_demo(command, duration, enough=lambda outcome: False):
    """`enough` is asked after every line and four times a second; True ends the demo early."""
    outcome = Outcome(command)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + JOIN_SECONDS + duration
    asked = False
    pending = {process.stdout: b"", process.stderr: b""}
    while pending:
        ready, _, _ = select.select(list(pending), [], [], 0.25)
        for stream in ready:
            chunk = os.read(stream.fileno(), 65536)
            pending[stream] += chunk
            if not chunk:
                rest = pending.pop(stream)
                if stream is process.stderr:
                    outcome.complaint += rest.decode("utf-8", "replace")
            elif stream is process.stdout:
                *lines, pending[stream] = pending[stream].split(b"\n")
                for line in lines:
                    take(outcome, line)
        late = time.monotonic() > deadline
        if not asked and (late or enough(outcome)):
            process.send_signal(signal.SIGINT)
            asked = True
            deadline = time.monotonic() + 20
        elif late:
            process.kill()
    outcome.code = process.wait()
    return outcome
