#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# configs/alertmanager.yml in a real Alertmanager: of an incident's alerts only the page on the
# culprit rings, once; what it explains is inhibited, and what it does not is left alone. Exit 77,
# with the reason, when prometheus-alertmanager is missing. Waits for conditions, never for times.
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "configs",
                      "alertmanager.yml")
DEADLINE = 60

INCIDENT = [  # alertname, kind, entity, severity, is it inhibited?
    ("GlooCollectiveTimeout", "node", "n2", "page", False),
    ("GlooCollectiveTimeout", "collective", "blue", "page", True),
    ("AgentDown", "node", "n2", "ticket", True),
    ("ProbeStale", "node", "n2", "ticket", True),
    ("VersionMismatch", "misconfig", "n2", "ticket", True),
    ("AgentDown", "node", "n5", "ticket", False),
    ("VersionMismatch", "collective", "blue", "ticket", False),
]


class Receiver(http.server.BaseHTTPRequestHandler):
    rung = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Receiver.rung.append((self.path, [alert["labels"] for alert in body["alerts"]]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def call(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as reply:
            return reply.read()
    except (urllib.error.URLError, OSError):
        return None


def wait_for(what, condition):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    sys.exit(f"FAILED: {what}: not within {DEADLINE} s")


def labels(name, kind, entity, severity):
    return dict(alertname=name, kind=kind, entity=entity, severity=severity)


def check(base):
    wait_for("alertmanager is ready", lambda: call(f"{base}/-/ready") is not None)
    # One call: no alert is ever there without the one that inhibits it.
    wait_for("the alerts are taken", lambda: call(
        f"{base}/api/v2/alerts", [{"labels": labels(*a[:4])} for a in INCIDENT]) is not None)

    def routed():
        alerts = json.loads(call(f"{base}/api/v2/alerts") or b"[]")
        done = len(alerts) == len(INCIDENT) and all(
            alert["status"]["state"] != "unprocessed" for alert in alerts)
        return alerts if done and Receiver.rung else None

    alerts = wait_for("all alerts are routed and the page has rung", routed)
    failed = False
    for name, kind, entity, severity, inhibited in INCIDENT:
        wanted = labels(name, kind, entity, severity)
        found = [a for a in alerts if a["labels"] == wanted]
        really = bool(found and found[0]["status"]["inhibitedBy"])
        if not found or really != inhibited:
            failed = True
            print(f"FAILED: {wanted}: inhibited {really}, should be {inhibited}")
    page = ("/page", [labels(*INCIDENT[0][:4])])
    if [ring for ring in Receiver.rung if ring[0] == "/page"] != [page]:
        failed = True
        print(f"FAILED: the pager rang {Receiver.rung}")
    return failed


def main():
    alertmanager = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if alertmanager is None:
        print("SKIPPED: prometheus-alertmanager is not installed")
        return 77
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="collwatch-inhibition-") as folder:
        config = os.path.join(folder, "alertmanager.yml")
        with open(CONFIG, encoding="utf-8") as source, open(config, "w", encoding="utf-8") as copy:
            copy.write(source.read().replace("127.0.0.1:9099",
                                             f"127.0.0.1:{receiver.server_port}"))
        port = free_port()
        with open(os.path.join(folder, "log"), "wb") as log:
            process = subprocess.Popen(
                [alertmanager, f"--config.file={config}", f"--storage.path={folder}",
                 f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="],
                stdout=log, stderr=log)
            try:
                failed = check(f"http://127.0.0.1:{port}")
            finally:
                process.terminate()
                process.wait(timeout=30)
    if not failed:
        print("one page, and nothing beside it that it explains")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
