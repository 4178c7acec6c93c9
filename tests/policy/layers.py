# SPDX-License-Identifier: Apache-2.0
#
# Who may include whom: the three floors, no circles between folders, each third-party library in
# one place. The tables at the top are the rule; CONTRIBUTING.md tells it in words.
import re

from tree import SOURCE_ROOTS, includes

# A file under the first may include files under the second, and nothing else of ours.
FLOORS = [
    ("probes/model/", ("probes/model/",)),
    ("probes/wire/", ("probes/model/", "probes/wire/")),
    ("probes/", ("probes/",)),
    ("exporters/", ("exporters/", "probes/model/")),
    ("daemon/", ("daemon/", "exporters/", "probes/model/", "probes/wire/")),
    ("tests/", ("tests/", "daemon/", "exporters/", "probes/")),
]

# Include prefix -> where it may appear. A library's own headers show at once who depends on it.
LIBRARIES = {
    "tl/": ("probes/model/result.h", "probes/gloo/", "probes/nccl/"),
    "catch2/": ("tests/support/catch.h",),
    "gloo/": ("probes/gloo/",),
    "torch/": ("probes/c10d/",),
    "ATen/": ("probes/c10d/",),
    "prometheus/": ("exporters/prometheus/",),
    "microhttpd.h": ("exporters/http/",),
    "crypt.h": ("exporters/http/password.cpp",),
    "curl/": ("daemon/http_client/",),
    "openssl/": ("daemon/peer/",),
    "yaml-cpp/": ("daemon/config/",),
    "re2/": ("daemon/match/",),
    "zlib.h": ("daemon/logs/",),
    "zstd.h": ("daemon/logs/",),
    "CLI/": ("daemon/cli/",),
    "spdlog/": ("daemon/agent/", "daemon/main.cpp"),
    "fmt/": ("daemon/agent/", "daemon/main.cpp"),
    "nlohmann/": ("probes/wire/", "exporters/json/", "exporters/jsonl/", "daemon/peer/",
                  "daemon/cli/", "daemon/demo/", "daemon/diagnose/", "daemon/flight/"),
}

# Headers of the system that are not plain C++ names: these prefixes and names.
SYSTEM_PREFIXES = ("sys/", "linux/", "net/", "netinet/", "arpa/", "sanitizer/")
SYSTEM_NAMES = {
    "dirent.h", "dlfcn.h", "fcntl.h", "getopt.h", "glob.h", "grp.h", "ifaddrs.h", "limits.h", "malloc.h", "netdb.h", "poll.h",
    "pthread.h", "pwd.h", "sched.h", "signal.h", "spawn.h", "stdint.h", "stdio.h", "stdlib.h",
    "string.h", "syslog.h", "termios.h", "time.h", "unistd.h", "cxxabi.h", "execinfo.h", "errno.h",
}
CPP_NAME = re.compile(r"^[a-z_0-9]+$")


def check_floors(tree):
    complaints = []
    for path, text in tree.matching(".h", ".cpp"):
        allowed = next((to for start, to in FLOORS if path.startswith(start)), None)
        if allowed is None:
            complaints.append(f"{path}:1: C++ outside of probes, exporters, daemon and tests")
            continue
        for line, mark, name in includes(text):
            if mark == '"':
                if name not in tree.files:
                    complaints.append(f"{path}:{line}: \"{name}\" is no path from the root")
                elif not name.startswith(allowed):
                    complaints.append(f"{path}:{line}: may not include \"{name}\" (wrong floor)")
    return complaints


def folder_graph(tree):
    graph = {}
    for path, text in tree.matching(".h", ".cpp", under=SOURCE_ROOTS):
        folder = path.rsplit("/", 1)[0]
        edges = graph.setdefault(folder, {})
        for line, mark, name in includes(text):
            target = name.rsplit("/", 1)[0]
            if mark == '"' and target != folder:
                edges.setdefault(target, f"{path}:{line}")
    return graph


def check_circles(tree):
    """One complaint per folder from which a path leads back to itself."""
    graph = folder_graph(tree)
    complaints = []
    for start in sorted(graph):
        came_from = {}
        queue = [start]
        while queue:
            folder = queue.pop(0)
            for target in sorted(graph.get(folder, {})):
                if target == start:
                    way = [folder]
                    while way[0] != start:
                        way.insert(0, came_from[way[0]])
                    complaints.append(f"{graph[folder][start]}: circle "
                                      + " -> ".join(way + [start]))
                    queue = []
                    break
                if target not in came_from:
                    came_from[target] = folder
                    queue.append(target)
    return complaints


def library_of(name):
    return next((prefix for prefix in LIBRARIES if name.startswith(prefix)), None)


def is_system(name):
    return bool(CPP_NAME.match(name)) or name in SYSTEM_NAMES or name.startswith(SYSTEM_PREFIXES)


def check_libraries(tree):
    complaints = []
    carriers = {}  # header of ours that includes a library -> that library
    for path, text in tree.matching(".h", ".cpp", under=SOURCE_ROOTS + ("tests/",)):
        for line, mark, name in includes(text):
            if mark == '"':
                continue
            library = library_of(name)
            if library is None:
                if not is_system(name):
                    complaints.append(f"{path}:{line}: <{name}> is no library of ours; a new one "
                                      "needs a row here and in docs/dependencies.md")
                continue
            in_tests = path.startswith("tests/") and library != "catch2/"
            if not in_tests and not path.startswith(LIBRARIES[library]):
                complaints.append(f"{path}:{line}: <{name}> may be used only in "
                                  + ", ".join(LIBRARIES[library]))
            if path.endswith(".h") and library not in ("tl/", "catch2/"):
                carriers[path] = library
    for path, text in tree.matching(".h", ".cpp", under=SOURCE_ROOTS):
        for line, mark, name in includes(text):
            if name in carriers and name.rsplit("/", 1)[0] != path.rsplit("/", 1)[0]:
                complaints.append(f"{path}:{line}: \"{name}\" carries <{carriers[name]}> out of its "
                                  "folder")
    return complaints
