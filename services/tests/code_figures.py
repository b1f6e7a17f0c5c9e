"""Figures of the source tree, to compare a change with its parent:

    python3 services/tests/code_figures.py [REVISION]

For each folder of services/ and operator/: lines of code without blank and comment lines, and the share of comment
lines among both; without tests (*_test.cc, testing/, tests/). In all: CMake targets, layer numbers, and functions that
are named XOf."""

import collections
import re
import subprocess
import sys

LAYER = re.compile(r"\bLAYER ([0-9.]+)")
TARGET = re.compile(r"^\s*espalier_\w*(?:library|program|test|fuzzer)\(", re.MULTILINE)
XOF = re.compile(r"^(?!\s*(?://|return\b))[\w:<>,&*\s]*?[\w>&*]\s+\*?&?(?:\w+::)*([A-Z]\w*Of)\(", re.MULTILINE)


def main():
    revision = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    names = git("ls-tree", "-r", "--name-only", revision, "services", "operator").splitlines()
    code, comments, functions = collections.Counter(), collections.Counter(), set()
    for name in names:
        if not name.endswith((".cc", ".h")) or is_test(name):
            continue
        text = git("show", f"{revision}:{name}")
        folder = "/".join(name.split("/")[:-1])
        functions |= set(XOF.findall(text))
        for line in text.splitlines():
            if line.lstrip().startswith("//"):
                comments[folder] += 1
            elif line.strip():
                code[folder] += 1
    lists = "".join(git("show", f"{revision}:{name}") for name in names if name.endswith("CMakeLists.txt"))
    for folder in sorted(code):
        print(f"{code[folder]:7}  {100 * comments[folder] / (code[folder] + comments[folder]):4.1f} %  {folder}")
    total = sum(code.values())
    print(f"{total:7}  {100 * sum(comments.values()) / (total + sum(comments.values())):4.1f} %  in all")
    print(f"{len(TARGET.findall(lists)):7}  CMake targets")
    print(f"{len(set(LAYER.findall(lists))):7}  layer numbers")
    print(f"{len(functions):7}  functions named XOf")


def is_test(name):
    return name.endswith("_test.cc") or "/testing/" in name or "/tests/" in name


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
