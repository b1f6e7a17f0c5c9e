"""Runs clang-tidy on units, each of which is all sources of one target that are compiled with the same command.

Most of clang-tidy's time goes into headers: it parses them, and its checks look at what they declare, once for each unit.
The sanitizers' build compiles up to twelve files of a target at a time; here it is all of them. A unit is left out where it
passed before with the same key (e2e/tools/passed_before.py): a digest of its command, its files, .clang-tidy, and the
machine. Its files are its sources and what they include, found by the text of #include lines, whatever #if says; headers of
packages are the machine's.
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
        self.file = file  # includes the sources, where there are several
        self.arguments = arguments  # compiles `file`; the paths in it are absolute
        self.sources = sources

    def files(self, roots):
        """Paths of the sources, and of everything below `roots` that they include."""
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
    """The files that `file` includes and that lie beside it or below one of `folders`."""
    found = []
    for name in INCLUDE.findall(file.read_text()):
        candidates = (folder / name for folder in (file.parent, *folders))
        found += [Path(os.path.normpath(path)) for path in candidates if path.is_file()][:1]
    return found


def without_precompiled_header(arguments):
    """clang-tidy of another vendor does not read what the compiler precompiled; it includes the header itself."""
    kept = list(arguments)
    while "-include-pch" in kept:
        at = kept.index("-include-pch")  # -Xclang -include-pch -Xclang FILE
        del kept[at - 1 : at + 3]
    return kept


def units_of(build, targets):
    """Units of the targets, by the build's compile_commands.json; writes their files and commands below BUILD/tidy."""
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
        key = target[1] if together else f"{target[1]}-{file.stem}"  # that file is compiled alone for a reason
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
    """Where the compiler's own headers are, which the clang-tidy of PyPI lacks."""
    return subprocess.run([compiler, "-print-resource-dir"], capture_output=True, text=True, check=True,
                          timeout=60).stdout.strip()


class Tidy:
    def __init__(self, program, build):
        self.program, self.build = program, build
        self._environment = passed_before.environment()
        self._version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True,
                                       timeout=60).stdout

    def key(self, unit):
        """None where it cannot be known."""
        if self._environment is None:
            return None
        command = " ".join(unit.arguments).replace(str(self.build), "BUILD").replace(str(SOURCE), "SOURCE")
        inputs = [CONFIG, Path(__file__).resolve(), *unit.files((self.build, SOURCE))]
        return passed_before.key([command, self._version], inputs, self._environment, self.build)

    def command(self, file):
        return [self.program, "--quiet", f"--config-file={CONFIG}", "-p", str(self.build / "tidy"), str(file)]

    def findings(self, unit):
        """What clang-tidy says: a line for each finding, with file, line and check; remembers the key where that is nothing."""
        key = self.key(unit)
        process = subprocess.run(self.command(unit.file), capture_output=True, text=True, timeout=1800)
        found = FINDING.findall(process.stdout)
        if process.returncode and not found:
            found = [process.stdout + process.stderr]
        if not found and key is not None:
            passed_before.remember(f"tidy/{unit.name}", key)
        return found

    def changed(self, units):
        """Those that did not pass before with the same key; the largest come first, so that none is left alone at the end."""
        keys = {unit: self.key(unit) for unit in units}
        changed = [unit for unit in units if keys[unit] is None or passed_before.passed(f"tidy/{unit.name}", keys[unit]) is None]
        return sorted(changed, key=lambda unit: -len(unit.files((self.build, SOURCE))))

    def findings_of(self, units):
        """{unit: findings}, of those that have some."""
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return {unit: found for unit, found in zip(units, threads.map(self.findings, units)) if found}
