# SPDX-License-Identifier: Apache-2.0
#
# A training process as far as /proc shows one, with NCCL's status service in it: has a file named like
# libnccl mapped, listens, and answers with a report out of a file. A test double. Ends with its parent.
# `ras_rank.py LIBRARY REPORT`; its rank is in its environment; prints its port.
import ctypes
import mmap
import signal
import socket
import sys

PR_SET_PDEATHSIG = 1


def serve(client, report):
    file = client.makefile("rwb")
    for line in file:
        words = line.decode(errors="replace").split()
        if words[:2] == ["CLIENT", "PROTOCOL"]:
            file.write(b"SERVER PROTOCOL 2\n")
        elif words == ["STATUS"]:
            with open(report, "rb") as content:
                file.write(content.read())
            file.flush()
            return
        else:
            file.write(b"OK\n")
        file.flush()


def main():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with open(sys.argv[1], "rb") as library:
        mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while mapped:
        client, _ = listener.accept()
        with client:
            client.settimeout(10)
            try:
                serve(client, sys.argv[2])
            except OSError:
                pass


main()
