# SPDX-License-Identifier: Apache-2.0
#
# Real agents for tests: starts and ends collwatchd processes, on loopback with ports of their own or
# in network namespaces with addresses of their own, and asks them and /proc about themselves. Every
# wait is for a condition and has a bound; every process is ended by its pid. Used by tests/zoo,
# tests/hostile, tests/degraded and tests/e2e.
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from netns import Fabric, http_get

SKIPPED = 77
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILT = os.path.join(SOURCE, "build", "release", "bin")
SAMPLE_LINE = re.compile(r"^(?:collwatch_)?([a-z_]+)(\{[^}]*\})? (\S+)$")


class Failed(Exception):
    """An expectation that did not hold; its text is the report."""


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)


def wait(what, condition, seconds=20):
    """Polls until `condition` is true; what it returned."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"never came: {what}")
        time.sleep(0.1)


def expect(condition, what):
    if not condition:
        raise Failed(what)


def torch_python():
    """A Python that has PyTorch, or None: Debian's packages are those of its own Python."""
    tests = (["sh", "-c", f"{p} -c 'import torch' 2>&-"] for p in (sys.executable, "/usr/bin/python3"))
    return next((t[2].split()[0] for t in tests if subprocess.call(t) == 0), None)


# --- a process, from outside ---------------------------------------------------------------------

def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


def count(path):
    try:
        return len(os.listdir(path))
    except OSError:
        return 0


def parent_of(pid):
    stat = read(f"/proc/{pid}/stat")
    return int(stat[stat.rindex(")") + 2:].split()[1]) if stat else 0


def below(pid):
    """Living descendants of `pid`, zombies included."""
    parents = {int(p): parent_of(p) for p in os.listdir("/proc") if p.isdigit()}
    found, grown = set(), {pid}
    while grown:
        grown = {p for p, parent in parents.items() if parent in grown and p not in found}
        found |= grown
    return found


def facts(pid):
    """What may not grow: descriptors, threads, children; resident KiB beside them."""
    resident = re.search(r"VmRSS:\s+(\d+)", read(f"/proc/{pid}/status"))
    return {"fds": count(f"/proc/{pid}/fd"), "threads": count(f"/proc/{pid}/task"),
            "processes": len(below(pid)), "kib": int(resident.group(1)) if resident else 0}


def alive(pid):
    stat = read(f"/proc/{pid}/stat")
    return bool(stat) and stat[stat.rindex(")") + 2] not in "ZX"


def cpu_seconds(pid):
    stat = read(f"/proc/{pid}/stat")
    fields = stat[stat.rindex(")") + 2:].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def limit(pid, what, soft):
    """RLIMIT_`what` of a running process; None: as much as it may. The hard limit stays, so that the
    soft one can go up again."""
    number = getattr(resource, f"RLIMIT_{what}")
    hard = resource.prlimit(pid, number)[1]
    resource.prlimit(pid, number, (hard if soft is None else soft, hard))


def fill_disk(path):
    """Writes to `path` until nothing more fits."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(file, b"x" * 512)
    except OSError:
        pass
    finally:
        os.close(file)


def free_ports(wanted):
    """The first of so many ports in a row that nobody has, below those the kernel hands out: other
    tests may be running beside this one."""
    for _ in range(200):
        first = random.randrange(20000, 32000, 2)
        sockets = []
        try:
            for port in range(first, first + wanted):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    sockets.append(socket.socket(socket.AF_INET, kind))
                    sockets[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    raise Failed(f"no {wanted} free ports in a row")


# --- the agents ----------------------------------------------------------------------------------

class Agent:
    def __init__(self, name, host, port, netns=None):
        self.name, self.host, self.port, self.netns = name, host, port, netns
        self.peer_port = port + 1
        self.process = None

    @property
    def pid(self):
        return self.process.pid


class Ring:
    """`names` on loopback, or, with `fabric`, each in its node of it."""

    def __init__(self, programs, names, fabric=None):
        self.programs = os.path.abspath(programs)
        self.folder = tempfile.mkdtemp(prefix="collwatch-ring-")
        os.chmod(self.folder, 0o755)
        self.fabric = fabric
        self.agents = {}
        self.token = "the-token-of-this-test\n"
        base_port = 0 if fabric else free_ports(2 * len(names))
        for index, name in enumerate(names):
            self.agents[name] = (Agent(name, fabric.address(index), 9781, fabric.netns(index))
                                 if fabric else Agent(name, "127.0.0.1", base_port + 2 * index))
        self.write("token", self.token, 0o600)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o644):
        """Whole or not at all: agents may be watching the file."""
        path = self.path(name)
        with open(os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w",
                  encoding="utf-8") as file:
            file.write(text)
        os.chmod(path + ".new", mode)
        os.rename(path + ".new", path)
        return path

    def members(self, of, names, at=None):
        """The member file of `of`; `at` gives a member another port than its own."""
        lines = [f'  - {{name: {n}, address: "{self.agents[n].host}:'
                 f'{(at or {}).get(n, self.agents[n].peer_port)}"}}\n' for n in names]
        self.write(f"{of}.peers.yaml", "members:\n" + "".join(lines))

    def configure(self, name, more=""):
        """`more` is appended: whole sections, or flags may be given at the start instead. Without a
        section `watch` this host's kernel log and processes are left alone: other tests have some."""
        agent = self.agents[name]
        any_host = "0.0.0.0" if agent.netns else agent.host
        if "watch:" not in more:
            more += "watch: {kernel: false, processes: {interval: 0s}}\n"
        return self.write(f"{name}.yaml",
                          f"node: {name}\nlisten: {any_host}:{agent.port}\n"
                          f'peers: {{listen: "{any_host}:{agent.peer_port}", token_file: token}}\n'
                          f"membership: {{file: {name}.peers.yaml, join_grace: 2s}}\n" + more)

    def start(self, name, programs=None, more="", prefix=(), environment=None, flags=()):
        """`prefix` must exec in place (prlimit, setpriv): the pid is to be the daemon's."""
        agent = self.agents[name]
        if not os.path.exists(self.path(f"{name}.peers.yaml")):
            self.members(name, self.agents)
        command = ["ip", "netns", "exec", agent.netns] if agent.netns else []
        command += [*prefix, os.path.join(programs or self.programs, "collwatchd"), "--config",
                    self.configure(name, more), *flags]
        with open(self.path(f"{name}.log"), "ab") as log:
            agent.process = subprocess.Popen(command, stdout=log, stderr=log,
                                             stdin=subprocess.DEVNULL,
                                             env={**os.environ, **(environment or {})})
        return agent

    def signal(self, name, number):
        self.agents[name].process.send_signal(number)

    def stop(self, name, seconds=5):
        """SIGTERM; true when that was enough."""
        process, self.agents[name].process = self.agents[name].process, None
        if process is None or process.poll() is not None:
            return True
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False

    def running(self):
        return [n for n, agent in self.agents.items()
                if agent.process is not None and agent.process.poll() is None]

    def close(self, keep=False):
        for name in list(self.agents):
            self.stop(name)
        if keep:
            print(f"logs kept in {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    # --- what they say

    def get(self, name, page, timeout=2.0):
        agent = self.agents[name]
        return http_get(agent.netns, agent.host, agent.port, page, timeout)

    def status(self, name, timeout=2.0):
        """None when it does not answer."""
        reply = self.get(name, "/api/v1/status", timeout)
        return json.loads(reply[1]) if reply and reply[0] == 200 else None

    def metrics(self, name):
        """'edge_rounds_total{outcome="ok"}' -> 17.0; empty when it does not answer."""
        reply = self.get(name, "/metrics")
        lines = reply[1].splitlines() if reply and reply[0] == 200 else []
        found = (SAMPLE_LINE.match(line) for line in lines)
        return {m.group(1) + (m.group(2) or ""): float(m.group(3)) for m in found if m}

    def events(self, name, kind=None):
        reply = self.get(name, "/api/v1/events")
        events = json.loads(reply[1])["events"] if reply and reply[0] == 200 else []
        return [e for e in events if kind in (None, e["type"])]

    def verdicts(self, name):
        return (self.status(name) or {"verdicts": []})["verdicts"]

    def edge(self, name, peer):
        status = self.status(name)
        return next((e["outcome"] for e in status["edges"] if e["peer"] == peer), None) \
            if status else None

    def state(self, name, member):
        status = self.status(name)
        return next((m["state"] for m in status["membership"]["members"] if m["name"] == member),
                    None) if status else None

    def all_ok(self, names=None):
        """Every edge among `names` works and nobody of them is called anything but ok."""
        names = list(names or self.agents)
        for name in names:
            status = self.status(name)
            if status is None:
                return False
            edges = {e["peer"]: e["outcome"] for e in status["edges"]}
            states = {m["name"]: m["state"] for m in status["membership"]["members"]}
            if any(edges.get(p) != "ok" or states.get(p) != "ok" for p in names if p != name):
                return False
        return True

    def log_tail(self, name, lines=12):
        return "".join(read(self.path(f"{name}.log")).splitlines(keepends=True)[-lines:])


class Canary(threading.Thread):
    """How long this host stood still for everybody: a sleep of 10 ms that took longer."""

    def __init__(self):
        super().__init__(daemon=True)
        self.worst, self.done = 0.0, threading.Event()
        self.start()

    def run(self):
        while not self.done.is_set():
            begun = time.monotonic()
            self.done.wait(0.01)
            self.worst = max(self.worst, time.monotonic() - begun - 0.01)


class Rounds:
    """That no round among `names` is lost: counts from its making to check(). Where the host itself
    stood still for longer than an edge waits, a lost round is the host's and is not counted."""

    def __init__(self, ring, names):
        self.ring, self.names, self.canary = ring, list(names), Canary()
        self.before = {name: self.look(name) for name in self.names}

    def look(self, name):
        status = wait(f"{name} to answer", lambda: self.ring.status(name))
        metrics = wait(f"{name}'s metrics", lambda: self.ring.metrics(name))
        return status["round"]["number"], metrics, time.monotonic()

    def check(self, what, strangers=False):
        """`strangers`: edges to others than `names` may fail meanwhile."""
        self.canary.done.set()
        if self.canary.worst > 0.25:
            print(f"note: {what}: this host stood still for {self.canary.worst:.2f} s; its rounds "
                  "were not counted")
            return self
        for name in self.names:
            round_before, before, at = self.before[name]
            round_now, now, end = self.look(name)
            rounds = round_now - round_before
            expect(rounds >= end - at - 2.5,
                   f"{what}: {name} turned {rounds} rounds in {end - at:.1f} s")
            ok = 'edge_rounds_total{outcome="ok"}'
            got = now[ok] - before.get(ok, 0)
            wanted = (len(self.names) - 1) * (rounds - 2)
            failed = {key: now[key] - before.get(key, 0) for key in now
                      if key.startswith("edge_rounds_total") and key != ok
                      and now[key] > before.get(key, 0)}
            expect(got >= wanted, f"{what}: {name} counted {got:.0f} good edge rounds in {rounds} "
                                  f"rounds, at least {wanted} expected; beside them {failed}, local "
                                  f"health {now.get('local_health_score')}")
            expect(strangers or not failed, f"{what}: {name} lost rounds: {failed}")
        return self


def innocent_verdicts(ring, names, guilty=()):
    """What `names` say of entities that none of `guilty` is part of; doubting oneself is free."""
    said = []
    for name in names:
        for verdict in ring.verdicts(name):
            parts = set(re.split(r"<->|->|,", verdict["entity"]))
            own_doubt = verdict["kind"] == "self" and verdict["state"] == "suspect"
            if not parts & set(guilty) and not own_doubt:
                said.append(f"{name}: {verdict['state']} {verdict['kind']} {verdict['entity']} "
                            f"{verdict['reason']}")
    return said


def fabric_or_skip(nodes):
    why = Fabric.missing()
    if why:
        skip(why)
    return Fabric(nodes)


def run_scenarios(scenarios, wanted, report):
    """Runs name -> function; `wanted` picks by name. Exit code: 1 when one failed, 77 when all that
    was asked for was skipped. `report` is called for a failure, before the next one starts."""
    failed, ran = [], 0
    for name, scenario in scenarios.items():
        if wanted and not any(re.fullmatch(w, name) for w in wanted):
            continue
        begun = time.monotonic()
        try:
            result = scenario() or ""
            ran += 0 if str(result).startswith("SKIPPED") else 1
            print(f"{'skip' if str(result).startswith('SKIPPED') else 'ok'}: {name} "
                  f"({time.monotonic() - begun:.1f} s) {result}", flush=True)
        except Failed as failure:
            failed.append(name)
            print(f"FAILED: {name}: {failure}", flush=True)
            report(name)
    print(f"{ran} ran, {len(failed)} failed" + (": " + ", ".join(failed) if failed else ""))
    return 1 if failed else 0 if ran else SKIPPED
