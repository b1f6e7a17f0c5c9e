"""docs/guide and README.md, done: every block of commands and Python on these pages is run as it stands there, the guide's
page after page in one folder, by the programs that were built.

What a block is stands behind the three backticks:

    sh                commands of bash; `sh exit 64`: that end with this exit code
    sh ctrl-c         a run that is interrupted after its first epochs, and ends with exit code 75
    python            a program
    python espalier   a program with the package espalier, where it is built
    yaml, below a line <!-- file: NAME -->: written to that file
    anything else     is not run: output, what a shell is set up with, and what needs a cluster (`sh cluster`: the
                      story `first_job` of e2e runs it), DGL or the tools of AWS
"""

import contextlib
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from pages import DOCS, SOURCE

GUIDE = DOCS / "guide"
PAGES = ["data.md", "first-job.md", "results.md", "going-on.md", "buckets.md"]
BLOCK = re.compile(r"(?:^<!-- file: (\S+) -->\n)?^```(\S*)(?: exit (\d+))?[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECRET = "not-to-be-seen"


def blocks(path):
    """(line, file, kind, exit code, text) of each block."""
    text = path.read_text()
    for found in BLOCK.finditer(text):
        file, language, code, content = found.groups()
        kind = found.group(0).splitlines()[1 if file else 0].removeprefix("```")
        yield text.count("\n", 0, found.start()) + 1, file, kind, int(code or 0), content


def is_run(kind):
    if kind == "python espalier":
        return importlib.util.find_spec("espalier") is not None
    return kind == "python" or re.fullmatch(r"sh( exit \d+| ctrl-c)?", kind)


class Gateway:
    """An S3 service with one bucket, on a free port."""

    def __init__(self, folder):
        (folder / "lab").mkdir(parents=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.environment = {"AWS_ENDPOINT_URL_S3": self.url, "AWS_REGION": "us-east-1",
                            "AWS_ACCESS_KEY_ID": "guide", "AWS_SECRET_ACCESS_KEY": SECRET}
        self.process = subprocess.Popen(
            [os.environ["ESPALIER_VERSITYGW"], "--port", f"127.0.0.1:{port}", "--region", "us-east-1", "posix",
             str(folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "ROOT_ACCESS_KEY": "guide", "ROOT_SECRET_KEY": SECRET})

    def wait(self):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(self.url, timeout=1)
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError("versitygw does not answer")

    def upload(self, folder, prefix):
        """What `aws s3 cp --recursive` does."""
        for path in sorted(folder.rglob("*")):
            if not path.is_file():
                continue
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            subprocess.run(["curl", "--silent", "--show-error", "--fail", "--config", "-", "--upload-file", str(path),
                            "--header", f"x-amz-content-sha256: {digest}",
                            f"{self.url}/lab/{prefix}/{path.relative_to(folder)}"],
                           input=f'aws-sigv4 = "aws:amz:us-east-1:s3"\nuser = "guide:{SECRET}"\n', text=True,
                           check=True, timeout=60, stdout=subprocess.DEVNULL)

    def stop(self):
        self.process.kill()
        self.process.wait()


class GuideTest(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="espalier-guide-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        (self.dir / "services").symlink_to(SOURCE / "services")
        names = ("LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")
        self.environment = {name: os.environ[name] for name in names if name in os.environ}
        self.environment["HOME"] = str(self.dir / "home")  # with a cache of its own
        python = str(pathlib.Path(sys.executable).parent)
        self.environment["PATH"] = ":".join([os.environ["ESPALIER_BIN"], python, os.environ["PATH"]])

    @contextlib.contextmanager
    def started(self, *command):
        """A program in a process group of its own, which ends with the `with` block."""
        with subprocess.Popen(command, cwd=self.dir, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              start_new_session=True) as process:
            try:
                yield process
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def run_block(self, where, kind, code, text):
        command = ["bash", "-euo", "pipefail", "-c"] if kind.startswith("sh") else [sys.executable, "-c"]
        with self.started(*command, text) as process:
            output, _ = process.communicate(timeout=300)
        print(f"--- {where}\n{output}", flush=True)
        self.assertEqual(process.returncode, code, f"{where}\n{text}\n{output}")

    def interrupt_block(self, where, text):
        """Presses Ctrl-C as a terminal does: in the whole process group, once the run's first epochs are written."""
        output = self.dir / re.search(r"--output (\S+)", text).group(1)
        with self.started("bash", "-euo", "pipefail", "-c", text) as process:
            deadline = time.monotonic() + 120
            while sum(file.read_text().count("\n") for file in output.glob("results/*/metrics.jsonl")) < 3:
                self.assertIsNone(process.poll(), f"{where}: ended before its third epoch")
                self.assertLess(time.monotonic(), deadline, f"{where}: no epochs")
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGINT)
            said, _ = process.communicate(timeout=120)
        print(f"--- {where}\n{said}", flush=True)
        self.assertEqual(process.returncode, 75, said)
        self.assertIn("--resume", said.splitlines()[-1])

    def check_files_are_documented(self, output):
        """Every file of a run is on reference/files.md, below 'The output folder'."""
        section = (DOCS / "reference" / "files.md").read_text().split("\n## ")[1]
        cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        patterns = [re.compile(re.sub(r"<[^>]+>", "[^/]+", re.escape(name).replace(r"\ ", " ")))
                    for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
        files = [str(path.relative_to(output)) for path in output.rglob("*") if path.is_file()]
        self.assertEqual([file for file in files if not any(pattern.fullmatch(file) for pattern in patterns)], [])
        self.assertEqual([p.pattern for p in patterns if not any(p.fullmatch(file) for file in files)], [])

    def follow(self, path):
        page = path.name
        for line, file, kind, code, text in blocks(path):
            if file:
                (self.dir / file).write_text(text)
            elif kind == "sh ctrl-c":
                self.interrupt_block(f"{page}:{line}", text)
            elif is_run(kind):
                self.run_block(f"{page}:{line}", kind, code, text)

    def test_the_guide_can_be_followed(self):
        for page in PAGES[:-1]:
            self.follow(GUIDE / page)
        self.check_files_are_documented(self.dir / "runs" / "cora")
        if not os.environ.get("ESPALIER_VERSITYGW"):
            print("ESPALIER_VERSITYGW is not set: buckets.md is left out", file=sys.stderr)
            return
        gateway = Gateway(self.dir / "s3")
        self.addCleanup(gateway.stop)
        gateway.wait()
        gateway.upload(SOURCE / "services" / "examples" / "cora", "graphs/cora")
        self.environment.update(gateway.environment)
        self.follow(GUIDE / PAGES[-1])

    def test_the_readme_can_be_followed(self):
        path = SOURCE / "README.md"
        kinds = [kind for _, _, kind, _, _ in blocks(path) if is_run(kind)]
        self.assertGreaterEqual(kinds.count("sh"), 2)
        self.assertIn("python", kinds)
        self.follow(path)

    def test_the_documents_of_a_cluster_are_valid(self):
        """One field is made wrong: it has to be the only complaint."""
        documents = [text for _, file, kind, _, text in blocks(GUIDE / "cluster.md") if file and kind == "yaml"]
        self.assertEqual(len(documents), 1)
        self.assertTrue((SOURCE / "crds/examples/cora.yaml").read_text().endswith("\n" + documents[0]))
        (self.dir / "job.yaml").write_text(documents[0])
        process = subprocess.run(["espalier", "run", "-f", "job.yaml", "--output", "out", "--set", "training.epochs=x"],
                                 cwd=self.dir, env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(process.returncode, 64, process.stderr)
        self.assertEqual(len(process.stderr.splitlines()), 1, process.stderr)
        self.assertIn("spec.training.epochs: expected an integer", process.stderr)

    def test_the_readmes_cluster_commands_match_the_pages(self):
        """The story `first_job` of e2e does what the pages say."""
        def commands(path):
            of_cluster = "".join(text for _, _, kind, _, text in blocks(path) if kind == "sh cluster")
            return {" ".join(line.split()) for line in of_cluster.replace("\\\n", " ").splitlines()}

        readmes = commands(SOURCE / "README.md")
        others = commands(DOCS / "operations/install.md") | commands(GUIDE / "cluster.md")
        for begin in ("helm install ", "kubectl create secret ", "images/build "):
            with self.subTest(begin):
                command, = (line for line in readmes if line.startswith(begin))
                self.assertIn(command, others)

    def test_every_page_with_blocks_that_can_be_run_is_followed(self):
        with_blocks = {path.name for path in GUIDE.glob("*.md") for _, _, kind, _, _ in blocks(path) if is_run(kind)}
        self.assertEqual(with_blocks, set(PAGES))


if __name__ == "__main__":
    unittest.main()
