"""Finds groups of tests that passed before with exactly the same inputs, so that test.sh skips them.

  passed_before.py check BUILD     prints what is left out to stderr, and to stdout a regular expression of those tests
                                   for `ctest --exclude-regex`, or nothing
  passed_before.py record BUILD    remembers that all groups of the last `check` passed

A group (services/cmake/PassedBefore.cmake) names its tests and its inputs: files, and folders with all files in them. Its
key is a digest of the inputs' names, modes and contents, and of what every test may depend on: this machine's packages,
kernel, processors and Python. `record` writes a stamp named after the key into the cache of e2e/tools/build.sh
($ESPALIER_TOOLS, default ~/.cache/espalier/tools); `check` looks for it. The keys that `record` uses are those that `check`
computed, before the tests ran. Every group runs where there is no stamp, where the packages cannot be listed, and with
ESPALIER_RUN_ALL=1. An input that cannot be read is an error, with exit status 1: a key without it would cover too little.

services/tests/tidy.py makes keys and stamps of its own with `key`, `passed` and `remember`.
"""

import datetime
import functools
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
KEPT_STAMPS = 20  # per group; older ones are removed
LEFT_OUT = "__pycache__"  # Python writes it beside the inputs
KEYS = "passed-before/keys.json"  # in the build folder, from `check` to `record`


def cache():
    return pathlib.Path(os.environ.get("ESPALIER_TOOLS") or pathlib.Path.home() / ".cache/espalier/tools") / "passed"


def groups(build):
    """Returns {name: (tests, inputs)} of a build folder. Each group is a file of lines "test NAME" and "input PATH"."""
    found = {}
    for file in sorted((build / "passed-before").glob("*.group")):
        lines = [line.split(" ", 1) for line in file.read_text().splitlines() if line]
        found[file.stem] = tuple([text for kind, text in lines if kind == wanted] for wanted in ("test", "input"))
    return found


def environment():
    """Returns the state of the machine that every test may depend on, as text; None if it cannot be determined."""
    try:
        packages = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Architecture} ${Version} ${Status}\n"],
                                  capture_output=True, check=True, timeout=60).stdout.decode()
        processor = sorted({line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                            if line.startswith(("model name", "flags"))})
    except (OSError, subprocess.SubprocessError):
        return None
    return "\n".join([packages, *processor, str(os.cpu_count()), platform.release(), platform.machine(), sys.version,
                      str(os.geteuid())])


def _files(path):
    """Returns the path itself, or all files below it, sorted by name."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if LEFT_OUT not in file.parts and (file.is_symlink() or not file.is_dir()))


@functools.cache  # programs that tests run against are inputs of several groups
def _content(file):
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


def _label(path, build):
    """Returns a name of an input that does not depend on the paths of the checkout, the build folder and the cache."""
    for root in (build, SOURCE):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return path.name


def key(tests, inputs, known_environment, build):
    digest = hashlib.sha256()

    def add(*texts):
        for text in texts:  # with its length, so that two lists never give the same bytes
            digest.update(len(text).to_bytes(8, "big") + text)

    add(pathlib.Path(__file__).read_bytes(), known_environment.encode(), "\n".join(sorted(tests)).encode())
    for top in sorted(map(pathlib.Path, inputs)):
        for file in _files(top):
            add(_label(top, build).encode(), str(file.relative_to(top)).encode(), oct(file.stat().st_mode).encode(),
                _content(file))
    return digest.hexdigest()[:32]


def passed(name, value):
    """Returns the time at which the group `name` passed with the key `value`, as text; None if it has to run."""
    stamp = cache() / name / value
    if os.environ.get("ESPALIER_RUN_ALL", "") not in ("", "0") or not stamp.exists():
        return None
    return stamp.read_text().strip()


def remember(name, value):
    """Writes the stamp that `passed` looks for, and removes the oldest ones of the group."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    folder = cache() / name
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / value).exists():
        (folder / value).write_text(now + "\n")
    for old in sorted(folder.iterdir(), key=lambda stamp: stamp.stat().st_mtime)[:-KEPT_STAMPS]:
        old.unlink(missing_ok=True)


def check(build):
    """Returns the regular expression, and leaves the keys for `record`."""
    known = environment()
    keys = {} if known is None else {name: key(*group, known, build) for name, group in groups(build).items()}
    (build / "passed-before").mkdir(parents=True, exist_ok=True)
    (build / KEYS).write_text(json.dumps(keys))
    left_out = []
    for name, value in keys.items():
        when = passed(name, value)
        if when is None:
            continue
        tests = groups(build)[name][0]
        print(f"== left out: {', '.join(tests)}: passed on {when} with the same inputs (key {value}); "
              "ESPALIER_RUN_ALL=1 runs them again", file=sys.stderr)
        left_out += tests
    return f"^({'|'.join(map(re.escape, left_out))})$" if left_out else ""


def record(build):
    keys = json.loads((build / KEYS).read_text())
    (build / KEYS).unlink()  # the keys belong to one run
    for name, value in keys.items():
        remember(name, value)


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in ("check", "record"):
        print("usage: passed_before.py check|record BUILD", file=sys.stderr)
        return 64
    build = pathlib.Path(arguments[1]).resolve()
    try:
        if arguments[0] == "record":
            record(build)
        else:
            print(check(build), end="")
    except OSError as error:
        print(f"passed_before.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
