"""Commands of the documentation's pages, run as they stand there."""

import contextlib
import os
import re
import subprocess

from runner import here
from runner.commands import Failure, run, wait_for

BLOCK = re.compile(r"^```sh cluster\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page, heading=None):
    """The blocks of commands for a cluster on a page of the sources, or of its part below a heading, as "### Install"."""
    text = (here.SOURCE / page).read_text()
    if heading is not None:
        _, found, text = text.partition(f"\n{heading}\n")
        if not found:
            raise Failure(f"{page} has no heading {heading}")
        text = re.split(r"^#+ ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return BLOCK.findall(text)


def file_of(page, name):
    """The content of a file that a page tells its reader to write."""
    text = (here.SOURCE / page).read_text()
    found = re.search(rf"^<!-- file: {re.escape(name)} -->\n```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise Failure(f"{page} has no file {name}")
    return found.group(1)


class Reader:
    """Somebody who does what pages say: in a folder that has the chart where the sources have it, with the programs in his
    PATH and a namespace that is kubectl's. For what a page can only give an example of he writes what `places` has: each key
    wherever it occurs."""

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
        """All of a block's commands, in one shell. Its last one may be a watch, which has no end: it is ended once it has
        shown `watch_until`. Returns what was printed."""
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
