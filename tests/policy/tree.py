# SPDX-License-Identifier: Apache-2.0
#
# The source tree as the policy checks see it: every text file below a root, build products left
# out, read once. A check is a function from Tree to a list of complaints ("file:line: what").
import os
import re

SKIPPED_FOLDERS = {".git", "build", "__pycache__", ".cache", "corpus"}
SOURCE_ROOTS = ("probes/", "exporters/", "daemon/")


class Tree:
    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.files = {}  # path from the root -> text
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
            for name in sorted(names):
                path = os.path.join(folder, name)
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                if b"\0" not in data:
                    relative = os.path.relpath(path, self.root)
                    self.files[relative] = data.decode("utf-8", "replace")

    def matching(self, *suffixes, under=("",)):
        """(path, text) of files that end in one of `suffixes` and lie under one of `under`."""
        for path, text in self.files.items():
            if path.endswith(suffixes) and path.startswith(tuple(under)):
                yield path, text

    def text(self, path):
        return self.files.get(path, "")


INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


def includes(text):
    """(line number, '<' or '"', name) of each include."""
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def numbered(text):
    return enumerate(text.splitlines(), start=1)
