#!/usr/bin/env python3
"""Kills processes of runs at random and compares the results with those of an undisturbed run.

  services/tests/random_kills.py --bin build/release/bin --job cora --runs 100
  services/tests/random_kills.py --bin build/release/bin --job DIR/amazon-photo --runs 20 --trainers 2
  services/tests/random_kills.py --bin build/release/bin --renew-certificates 5
  services/tests/random_kills.py --bin build/release/bin --learnable-rows 16

In each run, at least --kills trainers, graph servers and samplers get SIGKILL at training steps drawn from the run's
seed. About every second run also has a failpoint crash. A run must end by itself within --deadline seconds, with the
parametersDigest of the undisturbed run with the same number of trainers. With --renew-certificates, all runs use TLS, a
new authority replaces every process's key and certificate at this interval, and processes may end only by a kill or a
crash. The table goes to standard output and to OUTPUT/kills.md. Exit code 1 if a run failed. Files of failed runs stay
in OUTPUT.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from certificate_renewal import Renewal

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Kills happen after the first steps and in the first half, so that training is in progress even if this script has to
# wait for a processor.
FIRST_SHARE, LAST_SHARE = 0.02, 0.5
CRASHES = {  # role -> failpoint, with how often it is passed before the crash
    "trainer": [("trainer.step", 60), ("trainer.before_allreduce", 60), ("trainer.after_update", 60),
                ("checkpoint.before_upload", 4), ("checkpoint.after_file", 6), ("checkpoint.before_manifest", 4),
                ("checkpoint.after_manifest", 4), ("checkpoint.prune", 3)],
    "server": [("server.reply", 300)],
    "sampler": [("sampler.batch", 40)],
}


@dataclasses.dataclass
class Kill:
    child: str  # "trainer-1"
    step: int  # once this many steps are done
    done: bool = False


@dataclasses.dataclass
class Outcome:
    seed: str
    kills: list
    crash: str
    seconds: float
    problem: str = ""  # empty: all is well
    result: dict = dataclasses.field(default_factory=dict)
    renewals: int = 0  # of all certificates


def small_job(source, label_split, args):
    """Returns a job that trains for some seconds and saves often, so that the kills hit every state."""
    inputs = {"features": ["node-feat"]}
    if args.learnable_rows:
        inputs["embedding"] = {"size": args.learnable_rows, "optimizer": {"type": "Adagrad", "learningRate": 0.05}}
    return {
        "apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "random-kills"},
        "spec": {
            "graph": {"source": {"uri": str(source), "format": "OGB"}, "preprocess": {"normalizeFeatures": "Row"},
                      "partitions": {"count": args.partitions, "algorithm": "METIS"}},
            "training": {
                "task": {"type": "NodeClassification", "label": "node-label", "split": label_split},
                "inputs": [inputs],
                "model": {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 16, "dropout": 0.5},
                "sampling": {"layers": [{"fanout": 10}, {"fanout": 5}]},
                "batchSize": args.batch_size, "epochs": args.epochs, "seed": 1,
                "optimizer": {"type": "Adam", "learningRate": 0.01},
                "evaluation": {"everyEpochs": 10, "metric": "Accuracy", "neighborhood": "Full"},
            },
            "samplers": {"replicas": args.samplers},
            "trainers": {"replicas": args.trainers, "threads": 1},
            "checkpoint": {"every": {"steps": args.checkpoint_steps}, "keep": 2},
            "output": {"save": ["Model"]},
            # Failures are more frequent here than in real runs.
            "runPolicy": {"backoffLimit": 100},
        },
    }


def write_job(args, folder):
    if args.job == "cora":
        job = small_job(SOURCE / "services/examples/cora", "public", args)
    else:
        job = small_job(pathlib.Path(args.job).resolve(), "random20-30", args)
    path = folder / "job.json"
    path.write_text(json.dumps(job, indent=1))
    return path


def command(args, job, output):
    return [str(pathlib.Path(args.bin) / "espalier"), "run", "-f", str(job), "--output", str(output), "--access",
            args.access, *(["--tls"] if args.renew_certificates else []), *args.more]


def read_json(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


class Watch:
    """Reads the progress of a run from rank 0's /status."""

    def __init__(self, output):
        self.output = output
        self.num_steps = 0  # of the whole training; 0: not known yet

    def steps_done(self):
        ready = read_json(self.output / "run/trainer-0.json")
        try:
            with urllib.request.urlopen(f"http://{ready['adminAddress']}/status", timeout=0.5) as answer:
                status = json.load(answer)
        except (OSError, ValueError, KeyError, urllib.error.URLError):
            return None
        if "epoch" not in status:
            return None
        self.num_steps = status["epochs"] * status["stepsPerEpoch"]
        return status["epoch"] * status["stepsPerEpoch"] + status["step"] + 1


def draw_kills(rng, args, num_steps):
    children = ([f"trainer-{i}" for i in range(args.trainers)] + [f"server-{i}" for i in range(args.partitions)] +
                [f"sampler-{i}" for i in range(args.samplers)])
    roles = sorted({child.split("-")[0] for child in children})
    kills = []
    for _ in range(rng.randint(args.kills, args.kills + 2)):
        role = rng.choice(roles)
        child = rng.choice([child for child in children if child.startswith(role)])
        kills.append(Kill(child, round(num_steps * rng.uniform(FIRST_SHARE, LAST_SHARE))))
        if rng.random() < 0.2:  # and another one at the same moment, or while the first is being replaced
            kills.append(Kill(rng.choice(children), kills[-1].step))
    return sorted(kills, key=lambda kill: kill.step)


def draw_crash(rng, args):
    """Returns (environment, description) of a failpoint crash; both are empty if there is none."""
    if rng.random() < 0.5:
        return {}, ""
    role = rng.choice(["trainer", "server"] + ["sampler"] * (args.samplers > 0))
    count = {"trainer": args.trainers, "server": args.partitions, "sampler": args.samplers}[role]
    place, most = rng.choice(CRASHES[role])
    index = 0 if place.startswith("checkpoint.") else rng.randrange(count)  # rank 0 writes
    text = f"{place}=crash@{rng.randint(1, most)}"
    return {f"ESPALIER_FAILPOINTS_{role.upper()}_{index}": text}, f"{role}-{index}: {text}"


def kill_child(output, child):
    """Sends SIGKILL to the child that state.json names; returns False if it does not run at this moment."""
    pid = read_json(output / "run/state.json").get("processes", {}).get(child)
    if pid is None:
        return False
    try:
        text = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"espalier-" not in text or str(output).encode() not in text:
            return False
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True


def disturb(process, output, kills, deadline):
    """Carries out the kills, in order, until the run ends; raises TimeoutError at the deadline."""
    watch = Watch(output)
    pending = list(kills)
    while process.poll() is None:
        if time.monotonic() > deadline:
            raise TimeoutError
        steps = watch.steps_done() if pending else None
        while pending and steps is not None and steps >= pending[0].step and kill_child(output, pending[0].child):
            pending.pop(0).done = True
        try:
            process.wait(0.01 if pending else 0.2)
        except subprocess.TimeoutExpired:
            pass


# Log lines of a process whose connection to a peer failed because of a certificate. If a peer is killed, its connection
# may also end during the handshake, but the error does not mention certificates.
REFUSALS = re.compile(r"was refused|certificate verify failed|alert|No certificate|not the key of|UNAUTHENTICATED")


def failures_besides_kills(output, log):
    """Returns the lines of a run's logs about processes that did not end by SIGKILL, and about refused certificates."""
    ends = [line for line in log.read_text(errors="replace").splitlines()
            if ("; restarting trainers" in line or "; starting it again" in line) and "(signal 9)" not in line]
    refusals = [f"{path.name}: {line}" for path in sorted((output / "logs").glob("*.log"))
                for line in path.read_text(errors="replace").splitlines() if REFUSALS.search(line)]
    return ends + refusals


def run_once(args, job, output, kills, environment):
    """Runs the job with kills. Returns its outcome, without the seed."""
    start = time.monotonic()
    log = output.with_suffix(".log")
    renewal = None
    with contextlib.ExitStack() as ending, log.open("wb") as out:
        if args.renew_certificates:
            renewal = ending.enter_context(Renewal(output, args.renew_certificates, output.with_suffix(".authority")))
        process = subprocess.Popen(command(args, job, output), stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, env={**os.environ, **environment})
        problem = ""
        try:
            disturb(process, output, kills, start + args.deadline)
        except TimeoutError:
            problem = f"did not end within {args.deadline} s"
        finally:
            process.kill()
            process.wait()
    if not problem and process.returncode != 0:
        problem = f"ended with {process.returncode}: {log.read_text(errors='replace')[-1000:]}"
    outcome = Outcome("", kills, "", time.monotonic() - start, problem, read_json(output / "result.json"))
    if renewal is not None:
        outcome.renewals = renewal.rounds
        failures = [] if problem else failures_besides_kills(output, log)
        outcome.problem = problem or renewal.problem or "; ".join(failures[:3])
    return outcome


def digests(result):
    """Returns the digests of the parameters, and of learnable rows with their state."""
    return result.get("parametersDigest"), result.get("learnableRowsDigest")


def check(outcome, reference, args):
    done = sum(kill.done for kill in outcome.kills)
    if outcome.problem:
        return
    if digests(outcome.result) != reference:
        outcome.problem = f"ended with other parameters or rows: {digests(outcome.result)}"
    elif done < args.kills:
        outcome.problem = f"only {done} of {len(outcome.kills)} kills met a running process: make the job longer"


def row(number, outcome):
    kills = ", ".join(f"{kill.child} at {kill.step}" + ("" if kill.done else " (missed)") for kill in outcome.kills)
    restarts = outcome.result.get("restarts", {})
    return (f"| {number} | {outcome.seed} | {kills} | {outcome.crash or '-'} | {restarts.get('trainers', '-')} | "
            f"{restarts.get('services', '-')} | {outcome.renewals} | {outcome.seconds:.1f} | {outcome.problem.splitlines()[0] if outcome.problem else 'equal'} |")


def run_all(args, folder, say=print):
    """Performs all runs; returns the outcomes."""
    job = write_job(args, folder)
    reference = run_once(args, job, folder / "undisturbed", [], {})
    if reference.problem:
        raise SystemExit(f"the undisturbed run {reference.problem}")
    digest = reference.result["parametersDigest"]
    if args.learnable_rows and not reference.result.get("learnableRowsDigest"):
        raise SystemExit("the undisturbed run has no learnableRowsDigest")
    num_steps = args.epochs * len(reference.result["lossPerStep"])
    lines = [f"Undisturbed: {reference.seconds:.1f} s, {num_steps} steps, {args.trainers} trainers, "
             f"{args.partitions} servers, {args.samplers} samplers, access {args.access}, parametersDigest {digest}", "",
             "| run | seed | kills (child at step) | failpoint | groups restarted | services restarted | renewals | seconds | "
             "parameters |", "|---|---|---|---|---|---|---|---|---|"]
    for line in lines:
        say(line, flush=True)
    outcomes = []
    for number in range(args.runs):
        seed = f"{args.seed}/{number}"
        rng = random.Random(seed)
        kills = draw_kills(rng, args, num_steps)
        environment, crash = draw_crash(rng, args)
        output = folder / f"run-{number}"
        outcome = run_once(args, job, output, kills, environment)
        outcome.seed, outcome.crash = seed, crash
        check(outcome, digests(reference.result), args)
        if not outcome.problem:
            shutil.rmtree(output, ignore_errors=True)
            output.with_suffix(".log").unlink(missing_ok=True)
        outcomes.append(outcome)
        lines.append(row(number, outcome))
        say(lines[-1], flush=True)
        (folder / "kills.md").write_text("\n".join(lines) + "\n")
    return outcomes


def parser():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", default=os.environ.get("ESPALIER_BIN"), required="ESPALIER_BIN" not in os.environ,
                       help="folder of the binaries")
    flags.add_argument("--job", default="cora", help="cora, or a folder with a graph in OGB's layout (split random20-30)")
    flags.add_argument("--runs", type=int, default=10)
    flags.add_argument("--seed", default="1")
    flags.add_argument("--kills", type=int, default=3, help="smallest number of kills per run")
    flags.add_argument("--access", default="rpc", choices=["rpc", "mapped", "auto"])
    flags.add_argument("--trainers", type=int, default=2)
    flags.add_argument("--samplers", type=int, default=2)
    flags.add_argument("--partitions", type=int, default=2)
    flags.add_argument("--epochs", type=int, default=30)
    flags.add_argument("--batch-size", type=int, default=16)
    flags.add_argument("--checkpoint-steps", type=int, default=10)
    flags.add_argument("--learnable-rows", type=int, default=0, metavar="SIZE",
                       help="size of learnable rows on the graph servers in addition to the features; 0: none")
    flags.add_argument("--deadline", type=float, default=300, help="time limit of a run in seconds")
    flags.add_argument("--renew-certificates", type=float, default=0, metavar="SECONDS",
                       help="use TLS and replace all certificates at this interval; 0: no TLS")
    flags.add_argument("--more", nargs="*", default=[], help="further arguments of `espalier run`")
    flags.add_argument("--output", help="folder of the table and of files of failed runs; default: a new one")
    return flags


def main():
    args = parser().parse_args()
    folder = pathlib.Path(args.output or tempfile.mkdtemp(prefix="espalier-kills-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = run_all(args, folder)
    failed = [outcome for outcome in outcomes if outcome.problem]
    kills = sum(kill.done for outcome in outcomes for kill in outcome.kills)
    print(f"\n{len(outcomes) - len(failed)} of {len(outcomes)} runs ended with the same parameters, {kills} kills; "
          f"{folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
