"""Runs clang-tidy on units, each of which is all sources of one target that are compiled with the same command.

clang-tidy spends most of its time on headers: it parses and checks them once for each unit. The sanitizers' build
compiles up to twelve files of a target at a time; a unit here has all of them. A unit is skipped if it passed before
with the same key (e2e/tools/passed_before.py), a digest of its command, its files, .clang-tidy and the machine. The
files of a unit are its sources and the files that they include, found by the text of #include lines regardless of #if.
Headers of packages are covered by the machine's part of the key.
"""

import functools
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "e2e/tools"))
import passed_before  # noqa: E402

CONFIG = SOURCE / ".clang-tidy"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
TARGET = re.compile(r"(?:^|/)CMakeFiles/([^/]+)\.dir/")
FINDING = re.compile(r"^\S.*: (?:fatal )?(?:error|warning): .*$", re.MULTILINE)


class Unit:
    def __init__(self, name, file, arguments, sources):
        self.name = name
        self.file = file  # includes the sources if there are several
        self.arguments = arguments  # compiles `file`; the paths in it are absolute
        self.sources = sources

    def files(self, roots):
        """Returns the paths of the sources and of all files below `roots` that they include."""
        folders = tuple(Path(word[2:]) for word in self.arguments if word.startswith("-I"))
        folders += tuple(Path(value) for option, value in zip(self.arguments, self.arguments[1:]) if option == "-isystem")
        folders = tuple(folder for folder in folders if any(folder.is_relative_to(root) for root in roots))
        found, left = set(), self.sources + [Path(word) for word in self.arguments if word.endswith("/cmake_pch.hxx")]
        while left:
            file = left.pop()
            if file not in found:
                found.add(file)
                left += includes(file, folders)
        return sorted(found)


@functools.cache
def includes(file, folders):
    """Returns the files that `file` includes, as far as they are beside it or below one of `folders`."""
    found = []
    for name in INCLUDE.findall(file.read_text()):
        candidates = (folder / name for folder in (file.parent, *folders))
        found += [Path(os.path.normpath(path)) for path in candidates if path.is_file()][:1]
    return found


def without_precompiled_header(arguments):
    """Returns the arguments without the precompiled header, which clang-tidy of another vendor cannot read, and without
    its source: each file includes the headers that it uses."""
    kept = list(arguments)
    for option in ("-include-pch", "-include"):
        while option in kept:
            at = kept.index(option)  # -Xclang OPTION -Xclang FILE
            del kept[at - 1 : at + 3]
    return kept


def units_of(build, targets):
    """Returns the units of the targets according to the build's compile_commands.json. Writes their files and commands
    below BUILD/tidy."""
    folder = build / "tidy"
    folder.mkdir(exist_ok=True)
    compiled = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        arguments, file = without_precompiled_header(shlex.split(entry["command"])), Path(entry["file"])
        output = arguments[arguments.index("-o") + 1]
        target = TARGET.search(output)
        if not target or target[1] not in targets:
            continue
        together = file.parent.name == "Unity"
        sources = [Path(name) for name in INCLUDE.findall(file.read_text())] if together else [file]
        # A file that the build compiles alone is a unit of its own.
        key = target[1] if together else f"{target[1]}-{file.stem}"
        compiled.setdefault(key, (arguments, str(file), output, []))[3].extend(sources)

    units = []
    for name, (arguments, old_file, output, sources) in sorted(compiled.items()):
        file = folder / f"{name}.cc"
        text = "".join(f'#include "{source}"\n' for source in sorted(sources))
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        replaced = {old_file: str(file), output: f"{name}.o"}
        arguments = [replaced.get(word, word) for word in arguments] + [f"-resource-dir={resource_folder(arguments[0])}"]
        units.append(Unit(name, file, arguments, sources))
    commands = [{"directory": str(folder), "file": str(unit.file), "arguments": unit.arguments} for unit in units]
    (folder / "compile_commands.json").write_text(json.dumps(commands, indent=1))
    return units


@functools.cache
def resource_folder(compiler):
    """Returns the folder of the compiler's own headers, which the clang-tidy of PyPI lacks."""
    return subprocess.run([compiler, "-print-resource-dir"], capture_output=True, text=True, check=True,
                          timeout=60).stdout.strip()


class Tidy:
    def __init__(self, program, build):
        self.program, self.build = program, build
        self._environment = passed_before.environment()
        self._version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True,
                                       timeout=60).stdout

    def key(self, unit):
        """Returns the key of the unit; None if it cannot be computed."""
        if self._environment is None:
            return None
        command = " ".join(unit.arguments).replace(str(self.build), "BUILD").replace(str(SOURCE), "SOURCE")
        inputs = [CONFIG, Path(__file__).resolve(), *unit.files((self.build, SOURCE))]
        return passed_before.key([command, self._version], inputs, self._environment, self.build)

    def command(self, file):
        return [self.program, "--quiet", f"--config-file={CONFIG}", "-p", str(self.build / "tidy"), str(file)]

    def findings(self, unit):
        """Returns clang-tidy's findings, one line each with file, line and check. Stores the key if there are none."""
        key = self.key(unit)
        process = subprocess.run(self.command(unit.file), capture_output=True, text=True, timeout=1800)
        found = FINDING.findall(process.stdout)
        if process.returncode and not found:
            found = [process.stdout + process.stderr]
        if not found and key is not None:
            passed_before.remember(f"tidy/{unit.name}", key)
        return found

    def changed(self, units):
        """Returns the units that did not pass before with the same key, the largest first, so that no long unit runs
        alone at the end."""
        keys = {unit: self.key(unit) for unit in units}
        changed = [unit for unit in units if keys[unit] is None or passed_before.passed(f"tidy/{unit.name}", keys[unit]) is None]
        return sorted(changed, key=lambda unit: -len(unit.files((self.build, SOURCE))))

    def findings_of(self, units):
        """Returns {unit: findings} for the units that have findings."""
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return {unit: found for unit, found in zip(units, threads.map(self.findings, units)) if found}
