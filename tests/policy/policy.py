#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The rules of the house that a machine can hold: `policy.py ROOT` runs all checks, `policy.py ROOT
# floors budget` some. Prints a complaint a line; exit 1 if there is any, 2 for an unknown check.
# Run by ctest (label policy), one test a check; self_test.py proves that each can fail.
import sys

import documents
import layers
import sources
from tree import Tree

CHECKS = {
    "floors": layers.check_floors,
    "circles": layers.check_circles,
    "libraries": layers.check_libraries,
    "opening": sources.check_opening,
    "budget": sources.check_budget,
    "leftovers": sources.check_leftovers,
    "names": sources.check_names,
    "built": sources.check_built,
    "metrics": documents.check_metrics,
    "fingerprints": documents.check_fingerprints,
    "alerts": documents.check_alerts,
    "links": documents.check_links,
}


def main(arguments):
    if not arguments or any(name not in CHECKS for name in arguments[1:]):
        print(f"usage: policy.py ROOT [{'|'.join(CHECKS)}]...", file=sys.stderr)
        return 2
    tree = Tree(arguments[0])
    complaints = [complaint for name in arguments[1:] or CHECKS
                  for complaint in sorted(set(CHECKS[name](tree)))]
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
