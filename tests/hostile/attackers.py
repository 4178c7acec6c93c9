# SPDX-License-Identifier: Apache-2.0
#
# What a stranger with a network cable can do, as threads with a rate: each attack is a function that
# is called again and again from a namespace of its own until it is told to stop. Sockets only; used by
# tests/hostile/strangers.
import multiprocessing
import os
import random
import selectors
import socket
import struct
import threading
import time

from netns import enter, socket_in
from peer_wire import ask, datagram, identity, witness


class Attack:
    """Runs `step()` over and over in `threads` threads, at most `rate` times a second each."""

    def __init__(self, step=None, threads=1, rate=1000, holders=None):
        self.step, self.holders = step or holders, holders
        self.pause, self.done = 1 / rate, threading.Event()
        self.count, self.threads = 0, [threading.Thread(target=self.run) for _ in range(threads)]

    def run(self):
        while not self.done.wait(self.pause):
            try:
                self.step()
            except OSError:
                pass
            self.count += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for thread in self.threads:
            thread.join(10)


    def close(self):
        if self.holders:
            self.holders.close()

    def __str__(self):
        if not self.holders:
            return f"{self.count} times"
        return f"{self.holders.opened} connections, {self.holders.most} at once"


class Holders:
    """`size` connections that are opened and held; those that are closed on us are opened again.
    `sources`: addresses to come from; `hello`: bytes to begin with; `drip`: one byte now and then."""

    def __init__(self, netns, targets, size, sources=(None,), hello=b"", drip=b""):
        self.netns, self.targets, self.size, self.sources = netns, targets, size, sources
        self.hello, self.drip = hello, drip
        self.selector, self.held, self.opened, self.most = selectors.DefaultSelector(), {}, 0, 0
        self.next_drip = 0.0

    def __call__(self):
        for _ in range(20):
            if len(self.held) < self.size:
                self.open()
        for key, _ in self.selector.select(0):
            self.look(key.fileobj)
        self.most = max(self.most, len(self.held))
        if self.drip and time.monotonic() > self.next_drip:
            self.next_drip = time.monotonic() + 0.5
            for connection in list(self.held):
                self.send(connection, self.drip)

    def open(self):
        connection = socket_in(self.netns)
        connection.setblocking(False)
        source = self.sources[self.opened % len(self.sources)]
        if source:
            connection.bind((source, 0))
        connection.connect_ex(self.targets[self.opened % len(self.targets)])
        self.opened += 1
        self.held[connection] = True
        self.selector.register(connection, selectors.EVENT_READ)
        if self.hello:
            self.send(connection, self.hello)

    def send(self, connection, data):
        try:
            connection.send(data)
        except BlockingIOError:
            pass
        except OSError:
            self.drop(connection)

    def look(self, connection):
        try:
            if connection.recv(4096):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.drop(connection)

    def drop(self, connection):
        if self.held.pop(connection, None):
            self.selector.unregister(connection)
            connection.close()

    def close(self):
        for connection in list(self.held):
            self.drop(connection)


def garbage_at(netns, targets, size=512):
    """Connects, talks nonsense, hangs up."""
    openings = [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 4 + b"\x00" * 32, struct.pack(">I", 2**31),
                struct.pack(">I", 65536) + b"\x00" * 100, struct.pack(">I", 0) + b"\x00" * 32, b""]

    def step():
        with socket_in(netns) as connection:
            connection.settimeout(0.5)
            connection.connect(random.choice(targets))
            connection.sendall(random.choice(openings) + os.urandom(size))
    return step


def wrong_token(netns, targets, name):
    """Well-formed requests in a member's name that somebody without the token makes."""
    kinds = [{"kind": "dial"}, {"kind": "left", "reason": "gone"},
             {"kind": "meet_pair", "blob": os.urandom(64)},
             {"kind": "meet_group", "group": "x", "context_id": ""}]

    def step():
        host, port = random.choice(targets)
        ask(netns, host, port, "another-token", identity(name, "0" * 32), timeout=0.5,
            **random.choice(kinds))
    return step


def datagrams_at(netns, targets, make):
    """Sends what `make(host)` gives, from one socket."""
    sender = socket_in(netns, kind=socket.SOCK_DGRAM)

    def step():
        target = random.choice(targets)
        sender.sendto(make(target), target)
    return step


def spoiled_datagram(name, receivers):
    """Every way in which a datagram can be wrong without the token."""
    def make(_):
        message = witness(name, "0" * 32, random.choice(receivers), random.randrange(2**63), [], 0, 0)
        good = datagram("another-token", message)
        return random.choice([good, good[:-1], os.urandom(random.randrange(1, 1400)), b"", b"\x00",
                              os.urandom(1401), os.urandom(9000), b"\x9b" + b"\xff" * 8 + good])
    return make


class Knocker:
    """A process that connects to every port of a range on every host, over and over, says something
    and hangs up: what a port scanner does to a Gloo listener, which takes any caller for its peer."""

    def __init__(self, netns, hosts, ports):
        self.done, self.count = multiprocessing.Event(), multiprocessing.Value("L", 0)
        self.process = multiprocessing.Process(target=self.run, args=(netns, hosts, ports),
                                               daemon=True)

    def __enter__(self):
        self.process.start()

    def __exit__(self, *_):
        self.done.set()
        self.process.join(10)

    def close(self):
        pass

    def __str__(self):
        return f"{self.count.value} knocks"

    def run(self, netns, hosts, ports):
        enter(netns)
        knocking = []
        while not self.done.is_set():
            for port in ports:
                for host in hosts:
                    knock = socket.socket()
                    knock.setblocking(False)
                    knock.connect_ex((host, port))
                    knocking.append(knock)
                self.count.value += len(hosts)
                while len(knocking) > 400:
                    old = knocking.pop(0)
                    try:
                        old.send(b"who is there? " * 8)
                    except OSError:
                        pass
                    old.close()


class Wire:
    """Listens to what passes a port of the switch, and sends it again, whole or spoiled, from the
    stranger's place with the true sender's address."""

    def __init__(self, fabric, ports, stranger):
        self.seen, self.udp_port = [], 9782
        self.taps = []
        for port in ports:
            tap = socket_in(fabric.switch, socket.AF_PACKET, socket.SOCK_RAW)
            tap.bind((port, 0x0003))
            tap.setblocking(False)
            self.taps.append(tap)
        self.raw = socket_in(stranger, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.raw.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)

    def listen(self):
        for tap in self.taps:
            try:
                while True:
                    packet = tap.recv(65536)[14:]
                    if len(packet) > 28 and packet[0] >> 4 == 4 and packet[9] == socket.IPPROTO_UDP:
                        self.seen = self.seen[-999:] + [packet]
            except BlockingIOError:
                pass

    def again(self):
        self.listen()
        if not self.seen:
            return
        packet = bytearray(random.choice(self.seen))
        if random.random() < 0.5:  # spoiled: one byte of it is another
            where = random.randrange(28, len(packet))
            packet[where] ^= 1 << random.randrange(8)
        packet[26:28] = b"\x00\x00"  # no UDP checksum
        self.raw.sendto(bytes(packet), (socket.inet_ntoa(bytes(packet[16:20])), 0))
