"""Runs the commands of documentation pages unchanged."""

import contextlib
import os
import re
import subprocess

from runner import here
from runner.commands import Failure, run, wait_for

BLOCK = re.compile(r"^```sh cluster\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page, heading=None):
    """Returns the blocks of commands for a cluster on a page, or in its part below a heading such as "### Install"."""
    text = (here.SOURCE / page).read_text()
    if heading is not None:
        _, found, text = text.partition(f"\n{heading}\n")
        if not found:
            raise Failure(f"{page} has no heading {heading}")
        text = re.split(r"^#+ ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return BLOCK.findall(text)


def file_of(page, name):
    """Returns the content of a file that the reader of a page is to write."""
    text = (here.SOURCE / page).read_text()
    found = re.search(rf"^<!-- file: {re.escape(name)} -->\n```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise Failure(f"{page} has no file {name}")
    return found.group(1)


class Reader:
    """Runs commands of pages in a folder that has the chart at its place in the sources, with the programs in PATH and with
    `namespace` as kubectl's default. `places` maps examples on the pages, such as names of images, to their replacements."""

    def __init__(self, folder, namespace, places):
        self.folder = folder
        self._places = places
        (folder / "helm").symlink_to(here.SOURCE / "helm")
        config = folder / "kubeconfig"
        config.touch(mode=0o600)
        config.write_text(run(["kubectl", "config", "view", "--raw", "--flatten"]))
        run(["kubectl", "--kubeconfig", config, "config", "set-context", "--current", "--namespace", namespace])
        programs = here.beside(here.PLUGIN).parent
        self._environment = {**os.environ, "KUBECONFIG": str(config), "PATH": f"{programs}:{os.environ['PATH']}"}

    def write(self, name, content):
        (self.folder / name).write_text(self._in_place(content))

    def do(self, block, seconds=60, watch_until=None):
        """Runs all commands of a block in one shell and returns their output. The last command may be a watch, which is
        stopped after it has printed `watch_until`."""
        text = self._in_place(block)
        if watch_until is None:
            return run(self._shell(text), timeout=seconds, cwd=self.folder, env=self._environment)
        *former, watch = text.splitlines()
        if former:
            run(self._shell("\n".join(former)), timeout=seconds, cwd=self.folder, env=self._environment)
        return self._watch(watch, watch_until, seconds)

    def _watch(self, command, until, seconds):
        shown = self.folder / "watch.txt"
        with shown.open("w") as output, subprocess.Popen(
                self._shell(f"exec {command}"), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                cwd=self.folder, env=self._environment) as watching:
            try:
                wait_for(f"{until} in what `{command}` shows", seconds, lambda: until in shown.read_text(), shown.read_text)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    watching.kill()
        return shown.read_text()

    def _in_place(self, text):
        for theirs, ours in self._places.items():
            text = text.replace(theirs, ours)
        return text

    @staticmethod
    def _shell(text):
        return ["bash", "-euo", "pipefail", "-c", text]
