# SPDX-License-Identifier: Apache-2.0
#
# What each source file must look like: how it opens, how long it may be, what must not be left in
# it, that it is built at all. Budgets are those of CONTRIBUTING.md.
import os
import re

from tree import SOURCE_ROOTS, numbered

LICENCE = "SPDX-License-Identifier: Apache-2.0"
FILE_BUDGET = 400
FUNCTION_BUDGET = 60
LEFTOVERS = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")
EMPTY_NAMES = {"util", "utils", "common", "helper", "helpers", "manager", "misc"}
# A parent folder with one of these names says nothing about where the tree was checked out.
ORDINARY_PARENTS = {"/", "/tmp", "/var/tmp", "/home", "/root", "/opt", "/src", "/usr/src"}
GOOD_HOSTS = re.compile(r"^(localhost|127\.|\[::1\]|0\.0\.0\.0|10\.|192\.168\.|"
                        r"([a-z0-9-]+\.)*example(\.(com|org|net))?|[a-z][a-z0-9-]*(:|/|$)|"
                        r"(www\.)?(apache\.org|w3\.org|json-schema\.org|github\.com|prometheus\.io|"
                        r"man7\.org|semver\.org|keepachangelog\.com)|"
                        # Official documentation that the catalogue refers to.
                        r"(docs\.)?(pytorch\.org|nvidia\.com|kernel\.org|ray\.io)/|slurm\.schedmd\.com/|"
                        r"kubernetes\.io/docs/|\W)")


def comment_marks(path, text):
    if path.endswith((".h", ".cpp")):
        return "//"
    if path.endswith((".py", ".sh", "CMakeLists.txt", ".cmake")) or path == "Makefile":
        return "#"
    if text.startswith("#!"):
        return "#"
    return None


def check_opening(tree):
    complaints = []
    for path, text in tree.files.items():
        mark = comment_marks(path, text)
        lines = text.splitlines()
        # An area's CMakeLists.txt is one call; it explains itself.
        if mark is None or (path.startswith("tests/") and path.endswith("CMakeLists.txt") and len(lines) <= 5):
            continue
        if lines and lines[0].startswith("#!"):
            lines = lines[1:]
        if not lines or lines[0] != f"{mark} {LICENCE}":
            complaints.append(f"{path}:1: does not open with the SPDX line")
            continue
        if path.endswith("CMakeLists.txt") and len(lines) <= 15:
            continue
        paragraph = []
        for line in lines[2:]:
            if not line.startswith(mark) or line.strip() == mark:
                break
            paragraph.append(line)
        if len(lines) < 3 or lines[1] != mark or not paragraph:
            complaints.append(f"{path}:2: no paragraph that says what the file is for")
        elif len(paragraph) > 10:
            complaints.append(f"{path}:3: its first paragraph has {len(paragraph)} lines, at most 10")
    return complaints


def functions(text):
    """(first line number, length) of each function body at the left margin."""
    start = None
    signature = ""
    for number, line in numbered(text):
        if start is None:
            if line[:1] in ("", " ", "}", "#", "/") or line.startswith(("namespace", "class", "struct")):
                signature = signature + line if line.startswith("  ") and signature else ""
            else:
                signature = line
            # A table (`name = ...({`) is data, not a function.
            before = signature.split("(")[0]
            if line.endswith("{") and "(" in signature and ("=" not in before or "operator" in before):
                start = number
        elif line.startswith("}"):
            yield start, number - start + 1
            start, signature = None, ""


def check_budget(tree):
    complaints = []
    for path, text in tree.files.items():
        if not path.endswith((".h", ".cpp", ".py", ".sh")) and not text.startswith("#!"):
            continue
        length = text.count("\n")
        if length > FILE_BUDGET:
            complaints.append(f"{path}:{FILE_BUDGET}: {length} lines, at most {FILE_BUDGET}")
        if path.endswith((".h", ".cpp")) and path.startswith(SOURCE_ROOTS):
            for line, length in functions(text):
                if length > FUNCTION_BUDGET:
                    complaints.append(f"{path}:{line}: function of {length} lines, at most "
                                      f"{FUNCTION_BUDGET}")
    return complaints


def check_leftovers(tree):
    complaints = []
    parent = os.path.dirname(tree.root)
    places = [tree.root + "/"] + ([parent + "/"] if parent not in ORDINARY_PARENTS else [])
    for path, text in tree.files.items():
        if path == "LICENSE":
            continue
        for number, line in numbered(text):
            left = LEFTOVERS.search(line)
            if left:
                complaints.append(f"{path}:{number}: {left.group(1)} left behind")
            for place in places:
                if re.search(r"(?<![\w.~-])" + re.escape(place), line):
                    complaints.append(f"{path}:{number}: names the checkout's place {place}")
            for host in re.findall(r"https?://([^\s\"'`)<>]+)", line):
                if not GOOD_HOSTS.match(host):
                    complaints.append(f"{path}:{number}: names the host {host.split('/')[0]}")
    return complaints


def check_names(tree):
    complaints = []
    for path in tree.files:
        for part in path.split("/"):
            if part.split(".")[0] in EMPTY_NAMES:
                complaints.append(f"{path}:1: '{part}' says nothing about what is in it")
    return complaints


def check_built(tree):
    """Every .cpp is named by its folder's CMakeLists.txt; every test lies in a built area."""
    complaints = []
    for path, _ in tree.matching(".cpp", under=SOURCE_ROOTS):
        folder, name = os.path.split(path)
        # A folder without a list of its own is built by the nearest one above.
        lists = ""
        while folder and not lists:
            lists = tree.text(f"{folder}/CMakeLists.txt")
            below = path[len(folder) + 1:]
            folder = os.path.dirname(folder)
        if not re.search(rf"(^|[\s(/]){re.escape(below)}(\s|\)|$)", lists, re.M):
            complaints.append(f"{path}:1: named by no CMakeLists.txt, so never built")
    for path, _ in tree.matching("_test.cpp", under=("tests/",)):
        folder = os.path.dirname(path)
        parts = folder.split("/")
        call = tree.text(f"{folder}/CMakeLists.txt")
        if len(parts) != 3 or not re.search(rf"collwatch_tests\({parts[-1]} {parts[1]}\b", call):
            complaints.append(f"{path}:1: {folder}/CMakeLists.txt has no collwatch_tests("
                              f"{parts[-1]} {parts[1] if len(parts) > 1 else '?'} ...)")
    return complaints
