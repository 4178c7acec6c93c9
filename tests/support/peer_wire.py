# SPDX-License-Identifier: Apache-2.0
#
# The peer protocol (docs/peer-protocol.md) as a stranger or a lying member speaks it: the part of
# CBOR it needs, its MACs, one TCP conversation, one witness datagram. Written from the document and
# not from the code, so that the two check each other. Used by tests/hostile.
import hashlib
import hmac
import os
import struct

from netns import socket_in

OUTCOMES = ["ok", "timeout", "peer_lost", "refused", "unreachable", "never_joined", "init_failed",
            "misuse", "unsupported", "mismatch", "data_corruption", "worker_stuck", "worker_crash",
            "error"]
REASONS = ["agent_down", "worker_crash", "worker_stuck", "host_stall", "unreachable", "isolated",
           "refused", "never_joined", "slow", "lossy", "size_blackhole", "data_corruption",
           "version_mismatch", "config_mismatch", "wrong_interface", "duplicate_name", "clock_skew",
           "store_down"]
EDGE_STATES = ["unknown", "ok", "failing"]
HEARD = ["unknown", "heard", "silent"]
WORKERS = ["running", "starting", "stuck", "absent"]


# --- CBOR ----------------------------------------------------------------------------------------

def head(major, number):
    for size, code, mark in ((24, None, None), (2**8, ">B", 24), (2**16, ">H", 25),
                             (2**32, ">I", 26), (2**64, ">Q", 27)):
        if number < size:
            return bytes([major << 5 | number]) if code is None else \
                bytes([major << 5 | mark]) + struct.pack(code, number)
    raise ValueError(number)


def dumps(value):
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, (list, tuple)):
        return head(4, len(value)) + b"".join(dumps(item) for item in value)
    return head(5, len(value)) + b"".join(dumps(k) + dumps(v) for k, v in value.items())


def loads(data):
    return take(data, 0)[0]


def take(data, at):
    major, low = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        return {20: False, 21: True, 22: None}[low], at
    if low >= 24:
        size = 1 << (low - 24)
        low, at = int.from_bytes(data[at:at + size], "big"), at + size
    if major < 2:
        return (low if major == 0 else -1 - low), at
    if major < 4:
        part = data[at:at + low]
        return (part if major == 2 else part.decode()), at + low
    items = []
    for _ in range(low * (major - 3)):
        item, at = take(data, at)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at


# --- messages ------------------------------------------------------------------------------------

def mac(token, *parts):
    text = b"".join(struct.pack(">I", len(part)) + part for part in parts)
    return hmac.new(token.strip().encode(), text, hashlib.sha256).digest()


def name_hash(name):
    number = 2166136261
    for byte in name.encode():
        number = (number ^ byte) * 16777619 % 2**32
    return number


def frame(body, digest=bytes(32)):
    return struct.pack(">I", len(body)) + digest + body


def receive(connection, size):
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise OSError("closed")
        data += chunk
    return data


def receive_frame(connection):
    size = struct.unpack(">I", receive(connection, 4))[0]
    return receive(connection, 32), receive(connection, size)


def identity(name, incarnation, **more):
    """Who one claims to be; `more` overrides any field."""
    return {"name": name, "incarnation": incarnation, "version": "0.1.0", "build": "",
            "advertised": "", "view": "", "worker": "running", "worker_trouble": None,
            "round_ms": 0, "wall_offset_ms": 0, **more}


def ask(netns, host, port, token, sender, kind="dial", timeout=2.0, sign=None, **fields):
    """One conversation; the reply's fields, or None when there was none. `sign` may spoil the MAC."""
    try:
        with socket_in(netns) as connection:
            connection.settimeout(timeout)
            connection.connect((host, port))
            _, challenge = receive_frame(connection)
            nonce = loads(challenge)["nonce"]
            body = dumps({"v": 1, "from": sender, "nonce": os.urandom(8).hex(), "type": kind,
                          **fields})
            digest = mac(token, b"collwatch request", nonce, body)
            connection.sendall(frame(body, sign(digest) if sign else digest))
            return loads(receive_frame(connection)[1])
    except (OSError, KeyError, IndexError):
        return None


def edge_words(peer, state="failing", outcome="timeout", round=0, since=0, failed=1, ok=0,
               inbound="silent", reason=None, heard_age=-1, more=()):
    """One edge of a witness: what `from` claims of its edge to `peer`; `more` is [late_ms, lost]."""
    return [name_hash(peer), EDGE_STATES.index(state), OUTCOMES.index(outcome), round, since, failed,
            ok, HEARD.index(inbound), None if reason is None else REASONS.index(reason), heard_age, *more]


def witness(sender, incarnation, receiver, sequence, edges, round_ms, round, wall_offset_ms=0,
            health=0, flags=0, worker="running", trouble=None, view=0, shows=0):
    return [1, sender, incarnation, name_hash(receiver), sequence, round_ms, wall_offset_ms, None, 0,
            round, health, flags, WORKERS.index(worker),
            None if trouble is None else REASONS.index(trouble), view, edges, shows]


def datagram(token, message):
    body = dumps(message)
    return body + mac(token, b"collwatch witness", body)[:16]
