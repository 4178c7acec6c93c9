# SPDX-License-Identifier: Apache-2.0
#
# Network namespaces for tests: nodes on one bridge, sockets opened inside any of them from this
# process, HTTP through such a socket. Needs root, ip and iptables. What a killed test left behind is
# swept by the next one: the owner's pid is in every name.
import ctypes
import http.client
import os
import re
import shutil
import socket
import subprocess
import threading

PREFIX = "collwatch-test-"
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def call(*command, check=True):
    return subprocess.run(command, check=check, capture_output=True, text=True, timeout=20,
                          stdin=subprocess.DEVNULL)


def socket_in(netns, family=socket.AF_INET, kind=socket.SOCK_STREAM, protocol=0):
    """A socket of that namespace (None: of ours); it stays there whoever uses it."""
    if netns is None:
        return socket.socket(family, kind, protocol)
    made = []

    def inside():
        with open(f"/run/netns/{netns}", "rb") as entry:
            if LIBC.setns(entry.fileno(), CLONE_NEWNET) == 0:
                made.append(socket.socket(family, kind, protocol))

    thread = threading.Thread(target=inside)  # setns is a thread's own affair; this one ends
    thread.start()
    thread.join()
    if not made:
        raise OSError(f"cannot enter the namespace {netns}")
    return made[0]


def enter(netns):
    """This whole (single-threaded) process moves into that namespace."""
    with open(f"/run/netns/{netns}", "rb") as entry:
        if LIBC.setns(entry.fileno(), CLONE_NEWNET) != 0:
            raise OSError(f"cannot enter the namespace {netns}")


def http_get(netns, host, port, page, timeout):
    """(status, body), or None when nobody answers in time."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.sock = socket_in(netns)
        connection.sock.settimeout(timeout)
        connection.sock.connect((host, port))
        connection.request("GET", page)
        reply = connection.getresponse()
        return reply.status, reply.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


class Fabric:
    """`nodes` namespaces with an eth0 each on one bridge: 10.84.x.10, .11, ..."""

    @staticmethod
    def missing():
        """Why there cannot be one; empty: there can."""
        if os.geteuid() != 0:
            return "network namespaces need root"
        lacking = [tool for tool in ("ip", "iptables") if not shutil.which(tool)]
        if lacking:
            return f"network namespaces need {', '.join(lacking)}"
        probe = call("ip", "netns", "add", f"{PREFIX}{os.getpid()}-probe", check=False)
        call("ip", "netns", "del", f"{PREFIX}{os.getpid()}-probe", check=False)
        return probe.stderr.strip()

    def __init__(self, nodes):
        self.nodes = nodes
        self.net = f"10.84.{os.getpid() % 250}"
        self.switch = f"{PREFIX}{os.getpid()}-sw"
        self.sweep()
        call("ip", "netns", "add", self.switch)
        call("ip", "-n", self.switch, "link", "set", "lo", "up")
        call("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
        call("ip", "-n", self.switch, "addr", "add", f"{self.net}.1/24", "dev", "br0")
        call("ip", "-n", self.switch, "link", "set", "br0", "up")
        for node in range(nodes):
            self.add(node)

    def add(self, node):
        ns, port = self.netns(node), f"p{node}"
        call("ip", "netns", "add", ns)
        call("ip", "link", "add", "eth0", "netns", ns, "type", "veth", "peer", "name", port, "netns",
             self.switch)
        call("ip", "-n", self.switch, "link", "set", port, "master", "br0", "up")
        call("ip", "-n", ns, "link", "set", "lo", "up")
        call("ip", "-n", ns, "addr", "add", f"{self.address(node)}/24", "dev", "eth0")
        call("ip", "-n", ns, "link", "set", "eth0", "up")

    def netns(self, node):
        return f"{PREFIX}{os.getpid()}-n{node}"

    def address(self, node):
        return f"{self.net}.{10 + node}"

    def inside(self, node, *command, check=True):
        return call("ip", "netns", "exec", self.netns(node), *command, check=check)

    def close(self):
        for node in range(self.nodes):
            call("ip", "netns", "del", self.netns(node), check=False)
        call("ip", "netns", "del", self.switch, check=False)

    @staticmethod
    def sweep():
        for name in os.listdir("/run/netns") if os.path.isdir("/run/netns") else []:
            owner = re.match(PREFIX + r"(\d+)-", name)
            if owner and not os.path.exists(f"/proc/{owner.group(1)}"):
                call("ip", "netns", "del", name, check=False)
