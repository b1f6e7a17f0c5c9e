"""The programs that are shipped, and what they say about themselves."""

import os
import pathlib
import re
import subprocess

from pages import SOURCE

BIN = pathlib.Path(os.environ["ESPALIER_BIN"])


def programs():
    """Names of all that CMake installs but examples, the user's command first."""
    names = set()
    for folder in ("services", "operator"):
        for path in (SOURCE / folder).rglob("CMakeLists.txt"):
            if "examples" in path.parts:
                continue  # shows how one is written, and has no options
            names.update(re.findall(r"espalier_binary\(\s*NAME\s+([\w-]+)", path.read_text()))
    return sorted(names, key=lambda name: (name != "espalier", name))


def help_of(*command):
    """What `command --help` prints, without blanks at the ends of lines."""
    process = subprocess.run([str(BIN / command[0]), *command[1:], "--help"], capture_output=True, text=True,
                             timeout=60, stdin=subprocess.DEVNULL, check=True)
    return "\n".join(line.rstrip() for line in process.stdout.strip().splitlines()) + "\n"


def subcommands(text):
    """Names under 'Subcommands:' of a help text."""
    _, _, below = text.partition("\nSubcommands:\n")
    section, _, _ = below.partition("\n\n")
    return re.findall(r"^  ([a-z][\w-]*)\b", section, flags=re.MULTILINE)


def helps():
    """(command, help text) of all programs and subcommands, outer ones first."""
    waiting = [(name,) for name in programs()]
    while waiting:
        command = waiting.pop(0)
        text = help_of(*command)
        yield " ".join(command), text
        waiting[:0] = [(*command, name) for name in subcommands(text)]
