#!/usr/bin/env python3
"""Runs the C++ benchmarks one after another and prints their results as rows of the table of figures in README.md.

The benchmarks' output goes to stderr. Exit code 1, after all rows, if a benchmark misses a goal. A benchmark that fails or
prints unexpected output ends the run. Run it on an idle machine.

Example: all.py --bin build/release/bin --scale 1 > rows.md
         all.py --bin build/release/bin --only gather_bench sparse_step_bench
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

NUMBER = r"(\d+(?:\.\d+)?)"
KILOBYTES, MEGABYTES, FORTY_MEGABYTES = "1024", "1048576", "40000000"


class Output:
    """The output of a benchmark."""

    def __init__(self, name, text):
        self.name, self.text = name, text

    def numbers(self, pattern, behind=""):
        """Returns the numbers in the first line that begins with `pattern`. With `behind`, the search starts after the
        first line that begins with `behind`. In both, a blank matches one or more blanks, and # matches a number."""
        start = self._line(behind).end() if behind else 0
        return self._line(pattern, start).groups()

    def _line(self, pattern, start=0):
        words = [re.escape(word).replace(r"\#", NUMBER) for word in pattern.split()]
        match = re.compile(r"^\s*" + r"\s+".join(words), re.MULTILINE).search(self.text, start)
        if match is None:
            sys.exit(f"{self.name} printed no line '{pattern}'")
        return match


def whole(number):
    return f"{float(number):.0f}"


def sampling_rows(output):
    ceiling = "# M edges/s # % of the random-line ceiling (# M lines/s)"
    one = output.numbers("uniform, 1 thread " + ceiling)
    yield "sampling, uniform, 1 thread", f"{whole(one[1])} % of the random-line ceiling", (
        f"{one[0]} M edges/s ({one[2]} M lines/s)")
    speedup, = output.numbers("2 threads / 1 thread: #")
    rate = output.numbers("uniform, 2 threads " + ceiling)
    yield "sampling, uniform, 2 threads", f"{whole(rate[1])} % of the ceiling, {speedup} x one thread", (
        f"{rate[0]} M edges/s ({rate[2]} M lines/s)")
    for name, row in (("weighted, 1 thread", "weighted (F32)"), ("LABOR, 1 thread", "LABOR"),
                      ("temporal, 1 thread", "temporal"), ("temporal, last, 1 thread", "temporal, the last edges")):
        figure, _, _ = output.numbers(f"{name} {ceiling}")
        slower, _ = output.numbers("uniform rate / this rate: # in edges/s, # in batches/s", behind=name)
        yield f"sampling, {row}, 1 thread", f"{slower} x slower than uniform", f"{figure} M edges/s"


def gather_rows(output):
    for threads in ("1 thread", "2 threads"):
        percent, ours, _ = output.numbers(f"{threads}: # % of a prefetching copy (# GB/s; the copy: #)")
        yield f"gather, {threads}", f"{whole(percent)} % of a prefetching copy", f"{ours} GB/s"


def rpc_sampling_rows(output):
    raw, = output.numbers("raw gRPC, 1 MB replies # GB/s per client")
    rate, percent, _ = output.numbers(
        "sampling through servers # M edges/s per client: # % of sampling without RPC, # % of gRPC's bytes")
    yield "sampling through 2 servers by 2 clients", f"{percent} % of the same without RPC", (
        f"{float(rate):.1f} M edges/s per client; raw gRPC {raw} GB/s per client")


def train_step_rows(output):
    step, = output.numbers("step # ms")
    ratio, _ = output.numbers("floor / step #, by processor time #")
    yield "training step, GraphSAGE 3 layers of 256, 1 thread", f"the floor is {100 * float(ratio):.0f} % of the step's time", (
        f"{whole(step)} ms")


def collective_rows(output):
    for size, name in ((KILOBYTES, "1 KiB"), (MEGABYTES, "1 MiB"), (FORTY_MEGABYTES, "40 MB")):
        sockets, ring, tls, ring_ratio, tls_ratio = output.numbers(f"{size} # # # # #")
        yield f"all-reduce of {name}, 2 ranks", f"ring {ring_ratio} x the time of bare sockets, with TLS {tls_ratio} x", (
            f"sockets {sockets} us, ring {ring} us, with TLS {tls} us")


def sparse_step_rows(output):
    percent, ours, floor = output.numbers("# % of a prefetching pass over the same rows (# M rows/s; the pass: #)")
    yield "sparse Adagrad on the owner, rows of 128", f"{whole(percent)} % of a prefetching pass", (
        f"{ours} M rows/s; prefetching pass {floor}")


def rpc_sparse_step_rows(output):
    ours, of_pass, touched = output.numbers(
        "over RPC # M rows/s: # % of a prefetching pass over the same number of rows (# M rows/s)")
    _, of_raw, raw = output.numbers("over RPC # M rows/s: # % of the same bytes over raw gRPC (# M rows/s)")
    yield "sparse Adagrad on a server, gradients over RPC", (
        f"{whole(of_raw)} % of raw gRPC, {whole(of_pass)} % of a prefetching pass in the client"), (
        f"{ours} M rows/s; raw gRPC {raw}, prefetching pass {touched}")


# name: (flags besides --scale, whether it has --scale, the function that yields its rows)
BENCHMARKS = {
    "sampling_bench": (["--weighted", "--labor", "--temporal"], True, sampling_rows),
    "gather_bench": ([], True, gather_rows),
    "rpc_sampling_bench": ([], True, rpc_sampling_rows),
    "train_step_bench": ([], False, train_step_rows),
    "collective_bench": ([], False, collective_rows),
    "sparse_step_bench": ([], False, sparse_step_rows),
    "rpc_sparse_step_bench": ([], True, rpc_sparse_step_rows),
}


def run(arguments, name):
    flags, has_scale, _ = BENCHMARKS[name]
    command = [arguments.bin / name, *flags, *(["--scale", str(arguments.scale)] if has_scale else [])]
    print("==", *command, file=sys.stderr, flush=True)
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            sys.stderr.write(line)
            lines.append(line)
    if process.returncode != 0:
        sys.exit(f"{name} ended with {process.returncode}")
    return Output(name, "".join(lines))


def machine():
    found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores of {found[1] if found else os.uname().machine}, {memory:.0f} GiB"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the binaries")
    flags.add_argument("--scale", type=float, default=1.0, help="size of the graph as a fraction of 2.4 M nodes and 123 M edges")
    flags.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), help="run only these benchmarks")
    arguments = flags.parse_args()
    arguments.bin = arguments.bin.resolve()
    print(f"{machine()}; --scale {arguments.scale:g}\n\n| | ratio | figure |\n|---|---|---|", flush=True)
    missed = []
    for name in arguments.only:
        output = run(arguments, name)
        for row in BENCHMARKS[name][2](output):
            print("|", " | ".join(row), "|", flush=True)
        missed += [f"{name}: {line.strip()}" for line in output.text.splitlines() if line.endswith(", missed)")]
    for line in missed:
        print("missed:", line, file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
