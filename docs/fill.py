#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# `COMMAND | docs/fill.py FILE SECTION`: puts a command's output between the markers
# `<!-- SECTION: begin -->` and `<!-- SECTION: end -->` of a document, as a block of code, so that
# what README.md and docs/results.md show was really printed. With `--table` it goes in as it is.
# Refuses empty input and missing markers (exit 1) and leaves the file alone then.
import re
import sys


def main(arguments):
    table = "--table" in arguments
    rest = [argument for argument in arguments if argument != "--table"]
    if len(rest) != 2:
        print("usage: COMMAND | fill.py FILE SECTION [--table]", file=sys.stderr)
        return 2
    path, section = rest
    output = re.sub(r"\x1b\[[0-9;]*m", "", sys.stdin.read()).strip("\n")
    if not output:
        print("fill.py: nothing to fill in", file=sys.stderr)
        return 1
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        print(f"fill.py: {path} has no section {section}", file=sys.stderr)
        return 1
    body = f"\n{output}\n" if table else f"\n```\n{output}\n```\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:text.index(begin) + len(begin)] + body + text[text.index(end):])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
