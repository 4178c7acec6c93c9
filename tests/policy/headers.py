#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `headers.py ROOT COMPILER [FLAG]...`: every header compiles alone, so that whoever includes it need
# not know what it forgot. A header that some source includes before anything else is proven by the
# build itself; the others are compiled here. Run by the target checkheaders and by ctest (label
# policy); prints the compiler's words on each that does not, exit 1 then.
import concurrent.futures
import os
import subprocess
import sys

from tree import SOURCE_ROOTS, Tree, includes


def compile_alone(command, header):
    result = subprocess.run(command, input=f'#include "{header}"\n', text=True, capture_output=True,
                            check=False)
    return "" if result.returncode == 0 else f"{header}:1: does not compile alone\n{result.stderr}"


def proven_by_the_build(tree):
    first = (next(includes(text), None) for _, text in tree.matching(".cpp"))
    return {name for found in first if found for _, mark, name in [found] if mark == '"'}


def main(arguments):
    root, compiler, *flags = arguments
    command = [compiler, "-x", "c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
               "-I", root, *flags, "-"]
    tree = Tree(root)
    proven = proven_by_the_build(tree)
    headers = [path for path, _ in tree.matching(".h", under=SOURCE_ROOTS) if path not in proven]
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        complaints = [words for words in pool.map(lambda name: compile_alone(command, name), headers)
                      if words]
    print("\n".join(complaints) or f"{len(headers)} headers compile alone, {len(proven)} are proven "
          "by the build")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
