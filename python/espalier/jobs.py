"""Jobs on this machine, and the results of jobs."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from espalier import errors, programs
from espalier.typing import Path

# Seconds that a run has to save a checkpoint and end its processes after Ctrl-C, before it is killed.
_GRACE_SECONDS = 60


def run(job: dict[str, Any] | Path, output: Path, *, program: Sequence[Path] | None = None, resume: bool = False,
        restart: bool = False, set: Mapping[str, Any] | None = None, access: str = "auto", tls: bool = False,
        progress: bool | None = None) -> "Results":
    """Runs a job on this machine, with a process for each partitioner, graph server, sampler and trainer, and returns its
    Results. Counterpart of `espalier run`.

    job: a DistTraining as a dict, or the path of a YAML or JSON file. output: folder for results, logs and partitions.
    program: [executable, arguments...] to run instead of trainers (docs/programs.md). resume: whether to resume an
    interrupted run. restart: whether to start from the beginning. set: {path: value} of fields of the document to
    change. tls: whether to use mutual TLS between the processes. progress: whether to show the progress; None: if
    standard error is a terminal. The run ends if this process ends.

    An error has the message of the run, and the run's exit code as its attribute `exit_code`. Ctrl-C ends the run,
    which then saves a checkpoint.
    """
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(job, dict):
            file = os.path.join(folder, "job.json")
            pathlib.Path(file).write_text(json.dumps(job))
        else:
            file = os.fspath(job)
        command = [programs.path(), "run", "-f", file, "--output", os.fspath(output), "--access", access]
        command += [flag for flag, wanted in (("--resume", resume), ("--restart", restart), ("--tls", tls)) if wanted]
        for name, value in (set or {}).items():
            command += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
        show = sys.stderr.isatty() if progress is None else progress
        if not show:
            command.append("--quiet")
        if program is not None:
            command += ["--", *map(os.fspath, program)]
        _run(command, show)
    return Results(output)


def _run(command, show):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               start_new_session=True, preexec_fn=programs.end_with_this_thread())
    last_lines = collections.deque(maxlen=40)

    def read():
        for line in process.stderr:
            text = line.decode(errors="replace")
            if show:
                sys.stderr.write(text)
            last_lines.append(text)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        code = process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=_GRACE_SECONDS)
        except BaseException:  # the grace period is over, or a second Ctrl-C
            process.kill()
            process.wait()
        raise
    finally:
        reader.join()
        process.stderr.close()
    if code != 0:
        raise errors.from_exit_code(code, "".join(last_lines).strip() or f"espalier run ended with {code}")


class Results:
    """The outputs of a job, or of `write_embeddings`, `write_predictions` and `write_edge_predictions`, in a folder
    (docs/outputs.md).

    `result` is result.json as a dict, and `epochs` are the lines of metrics.jsonl. Arrays are returned with the ids of
    the input graph. NotFound: the folder has no result, because the run failed or has not ended.
    """

    def __init__(self, output: Path) -> None:
        self.folder = pathlib.Path(output)
        file = self.folder / "result.json"
        if not file.exists():
            raise errors.NotFound(f"there is no result in {self.folder}")
        self.result = json.loads(file.read_text())

    def __repr__(self) -> str:
        metrics = {name: value for name, value in self.result.items() if name.startswith(("test", "validation"))
                   and isinstance(value, (int, float))}
        return f"Results({str(self.folder)!r}, {metrics})"

    @property
    def epochs(self) -> list[dict[str, Any]]:
        """The metrics of each epoch as a dict."""
        file = self.folder / "metrics.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def partitions(self) -> str:
        """The folder of the partitions that the job used, which `DistGraph(partitions=)` opens. NotFound: the result
        does not contain the folder; only `run` adds it."""
        if "partitionKey" not in self.result:
            raise errors.NotFound(f"the result in {self.folder} names no partitions")
        local = self.folder / "partitions" / self.result["partitionKey"]
        return str(local) if local.exists() else self.result["partitionUri"]

    def _folder_of(self, kind):
        """Returns the folder of a kind of output: below the folder of the incarnation for programs, in the output
        folder itself for trainers."""
        manifest = self.folder / "manifest.json"
        if manifest.exists():
            incarnation = json.loads(manifest.read_text()).get("incarnation", 0)
            folder = self.folder / "results" / f"{incarnation:06}" / kind
            if folder.is_dir():
                return folder
        return self.folder / kind

    def _of_nodes(self, kind, ntype):
        folder = self._folder_of(kind)
        types = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
        if not types:
            raise errors.NotFound(f"the job has written no {kind}: {self.result.get('notWritten', {}).get(kind, '')}".rstrip(": "))
        if ntype is None and len(types) == 1:
            ntype, = types
        if ntype not in types:
            raise errors.InvalidArgument(f"{kind} are of {', '.join(types)}; name one")
        folder /= ntype
        if (folder / "ids.npy").exists():
            return np.load(folder / "ids.npy").astype(np.int64), np.load(folder / "values.npy", mmap_mode="r")
        ends = (np.load(folder / f"{end}.npy").astype(np.int64) for end in ("sources", "destinations"))
        return (*ends, np.load(folder / "values.npy", mmap_mode="r"))

    def embeddings(self, ntype: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Returns (ids, values): int64 [n] and [n, d], mapped from the files. ids ascend unless particular nodes were
        written."""
        return self._of_nodes("embeddings", ntype)

    def predictions(self, ntype: str | None = None) -> tuple[np.ndarray, ...]:
        """Returns (ids, values) as `embeddings` does. For predictions of edges, `ntype` is the part, and the result is
        (sources, destinations, values)."""
        return self._of_nodes("predictions", ntype)

    def logits(self, ntype: str | None = None) -> tuple[np.ndarray, ...]:
        return self._of_nodes("logits", ntype)

    def log(self, process: str) -> str:
        """Returns the log of a process, such as "trainer-0"."""
        return (self.folder / "logs" / f"{process}.log").read_text(errors="replace")
