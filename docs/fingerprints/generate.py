#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `docs/fingerprints/generate.py build/release/bin/collwatch`: writes the pages of this folder from the
# catalogue that the program was built with (configs/fingerprints/). With `--check` it writes nothing
# and exits 1 where a page is missing, differs or has no entry any more; ctest runs that.
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
MADE_BY = "<!-- Made by docs/fingerprints/generate.py from configs/fingerprints; do not edit. -->\n"
INDEX = """# The catalogue of failures

What `collwatch diagnose` knows and `collwatch explain` shows, a page for each id. Your own entries and
texts are merged over these: [the file's schema](../schema/fingerprints-file.md).

"""
SIDE_BY_SIDE = """
## NCCL errors side by side

What each really indicates, and what tells it from the others (`collwatch explain --layer nccl`).

"""


def explain(program, *arguments):
    command = [program, "explain", "--format", "markdown", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def pages(program):
    table = explain(program)
    yield "README.md", INDEX + table + SIDE_BY_SIDE + explain(program, "--layer", "nccl")
    for name in re.findall(r"^\| \[(\w+)\]", table, re.M):
        yield f"{name}.md", explain(program, name)


def main(arguments):
    check = "--check" in arguments
    rest = [argument for argument in arguments if argument != "--check"]
    if len(rest) != 1:
        print("usage: generate.py COLLWATCH [--check]", file=sys.stderr)
        return 2
    wanted = {name: MADE_BY + text for name, text in pages(rest[0])}
    present = {}
    for name in os.listdir(FOLDER):
        if name.endswith(".md"):
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                present[name] = file.read()
    stale = sorted(name for name in wanted.keys() | present.keys()
                   if wanted.get(name) != present.get(name))
    for name in stale:
        path = os.path.join(FOLDER, name)
        if check:
            print(f"docs/fingerprints/{name}: not current; run docs/fingerprints/generate.py")
        elif name in wanted:
            with open(path, "w", encoding="utf-8") as file:
                file.write(wanted[name])
        else:
            os.remove(path)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
