#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Proves that every policy check can fail: a small tree that keeps all rules must pass all of them,
# and each change in BREAKS must make exactly the check it names complain about the file it names.
# Run by ctest (label policy); prints what did not happen, exit 1 then.
import os
import sys
import tempfile

from policy import CHECKS
from tree import Tree

OPEN = "// SPDX-License-Identifier: Apache-2.0\n//\n// What it is for, who uses it and on which thread.\n"

GOOD = {
    "README.md": "# x\n\nSee [the picture](docs/picture.md#top). `collwatch_rounds_total` counts rounds.\n",
    "docs/picture.md": "A peer that went away is `gloo_peer_lost`.\n",
    "docs/metrics.md": "| `collwatch_rounds_total` | counter |\n",
    "docs/runbooks/GlooPeerLost.md": "Look at the node.\n",
    "docs/schema/x.json": '{"enum": ["gloo_peer_lost", "none"]}\n',
    "configs/alerts.yml": "groups:\n- rules:\n  - alert: GlooPeerLost\n"
                          '    expr: collwatch_rounds_total{fingerprint="gloo_peer_lost"}\n',
    "probes/model/vocabulary.h": OPEN + "#pragma once\n#include <string>\n"
                                 'COLLWATCH_NAMES(Fingerprint, "gloo_peer_lost", "none");\n',
    "probes/gloo/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nadd_library(collwatch_gloo edge.cpp)\n",
    "probes/gloo/edge.cpp": OPEN + '#include <gloo/context.h>\n#include "probes/model/vocabulary.h"\n',
    "exporters/snapshot.h": OPEN + '#include "probes/model/vocabulary.h"\n',
    "exporters/prometheus/metric_table.h": OPEN + 'inline constexpr auto kName = "collwatch_rounds_total";\n',
    "daemon/base/loop.h": OPEN + "#include <sys/epoll.h>\n",
    "daemon/peer/mac.h": OPEN + '#include "daemon/base/loop.h"\n',
    "daemon/peer/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nadd_library(collwatch_peer mac.cpp)\n",
    "daemon/peer/mac.cpp": OPEN + '#include <openssl/hmac.h>\n#include "daemon/peer/mac.h"\n'
                           "int twice(int x) {\n  return 2 * x;\n}\n",
    "tests/unit/peer/CMakeLists.txt": "collwatch_tests(peer unit LIBS collwatch_peer)\n",
    "tests/unit/peer/mac_test.cpp": OPEN + '#include "daemon/peer/mac.h"\n',
}

LONG = OPEN + "int f() {\n" + "  g();\n" * 60 + "}\n"

# check, file to change, its new text or what to append (None: remove it), the file complained of
BREAKS = [
    ("floors", "probes/gloo/edge.cpp", '+#include "daemon/peer/mac.h"\n', "probes/gloo/edge.cpp"),
    ("floors", "exporters/snapshot.h", '+#include "daemon/base/loop.h"\n', "exporters/snapshot.h"),
    ("floors", "daemon/peer/mac.h", '+#include "mac.h"\n', "daemon/peer/mac.h"),
    ("circles", "daemon/base/loop.h", '+#include "daemon/peer/mac.h"\n', "daemon/peer/mac.h"),
    ("libraries", "daemon/base/loop.h", "+#include <openssl/evp.h>\n", "daemon/base/loop.h"),
    ("libraries", "daemon/peer/mac.cpp", "+#include <boost/asio.hpp>\n", "daemon/peer/mac.cpp"),
    ("libraries", "probes/model/vocabulary.h", "+#include <torch/torch.h>\n", "probes/model/vocabulary.h"),
    ("opening", "daemon/base/loop.h", "#pragma once\n", "daemon/base/loop.h"),
    ("opening", "daemon/base/loop.h", OPEN.split("\n")[0] + "\n#pragma once\n", "daemon/base/loop.h"),
    ("opening", "daemon/base/loop.h", OPEN + "// more\n" * 10, "daemon/base/loop.h"),
    ("budget", "daemon/peer/mac.cpp", LONG, "daemon/peer/mac.cpp"),
    ("budget", "daemon/base/loop.h", OPEN + "\n" * 400, "daemon/base/loop.h"),
    ("leftovers", "daemon/base/loop.h", "+// TO" "DO later\n", "daemon/base/loop.h"),
    ("leftovers", "docs/picture.md", "+https:" "//mirror.acme.dev/pool\n", "docs/picture.md"),
    ("leftovers", "docs/picture.md", "+lies in %ROOT%/docs\n", "docs/picture.md"),
    ("names", "daemon/base/helpers.h", OPEN, "daemon/base/helpers.h"),
    ("built", "daemon/peer/orphan.cpp", OPEN, "daemon/peer/orphan.cpp"),
    ("built", "tests/unit/peer/CMakeLists.txt", "# nothing\n", "tests/unit/peer/mac_test.cpp"),
    ("metrics", "README.md", "+`collwatch_turns_total`\n", "README.md"),
    ("metrics", "docs/metrics.md", "nothing\n", "docs/metrics.md"),
    ("fingerprints", "docs/picture.md", "+`gloo_peer_gone`\n", "docs/picture.md"),
    ("fingerprints", "configs/alerts.yml", '+  fingerprint="peer_lost"\n', "configs/alerts.yml"),
    ("fingerprints", "docs/schema/x.json", '["gloo_peer_lost"]\n', "docs/schema/x.json"),
    ("alerts", "configs/alerts.yml", "+  - alert: PeerLost\n", "configs/alerts.yml"),
    ("alerts", "docs/runbooks/GlooPeerLost.md", None, "configs/alerts.yml"),
    ("alerts", "docs/runbooks/StoreTimeout.md", "?\n", "docs/runbooks/StoreTimeout.md"),
    ("links", "docs/picture.md", "+[gone](gone.md)\n", "docs/picture.md"),
]


def write(root, files):
    for path, text in files.items():
        place = os.path.join(root, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)


def complaints_of(files):
    with tempfile.TemporaryDirectory() as root:
        write(root, {path: text.replace("%ROOT%", root) for path, text in files.items()})
        tree = Tree(root)
        return {name: check(tree) for name, check in CHECKS.items()}


def changed(path, text):
    files = dict(GOOD)
    if text is None:
        del files[path]
    elif text.startswith("+"):
        files[path] += text[1:]
    else:
        files[path] = text
    return files


def main():
    failures = [f"the good tree: {complaint}"
                for complaints in complaints_of(GOOD).values() for complaint in complaints]
    for check, path, text, blamed in BREAKS:
        found = complaints_of(changed(path, text))
        if not any(complaint.startswith(blamed + ":") for complaint in found[check]):
            failures.append(f"{check} did not complain of {blamed} after the change of {path} to {text!r}")
    failures += [f"{name} has no change in BREAKS that makes it fail"
                 for name in CHECKS if name not in {row[0] for row in BREAKS}]
    print("\n".join(failures) or f"{len(CHECKS)} checks, {len(BREAKS)} ways to break them, all seen")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
