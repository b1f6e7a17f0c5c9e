"""A program that is killed and restarted ends with bitwise the same results as one that was not."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ["ESPALIER_BIN"]
SOURCE = pathlib.Path(os.environ["ESPALIER_SOURCE"])
SCRIPT = pathlib.Path(__file__).parent / "scripts" / "resumed_loop.py"
DOCUMENT = f"""
apiVersion: espalier.io/v1alpha1
kind: DistTraining
metadata: {{name: resumed}}
spec:
  graph:
    source: {{uri: {SOURCE}/services/examples/cora, format: OGB}}
    partitions: {{count: 2}}
  trainers: {{replicas: 2}}
"""


class RecoveryTest(unittest.TestCase):
    def digest_of_run(self, folder, name, *settings, **environment):
        document = folder / "job.yaml"
        document.write_text(DOCUMENT)
        output = folder / name
        run = subprocess.run(
            [f"{BIN}/espalier", "run", "-f", document, "--output", output, "--quiet",
             *(word for setting in settings for word in ("--set", setting)), "--", sys.executable, SCRIPT,
             folder / f"{name}-checkpoints"],
            env=dict(os.environ, **environment), capture_output=True, text=True, timeout=240)
        log = (output / "logs" / "trainer-0.log").read_text()
        self.assertEqual(run.returncode, 0, run.stderr + log)
        return re.search(r"^digest (\w+) (.*)$", log, re.MULTILINE).groups()

    def test_a_rank_that_is_killed_or_stopped_changes_no_bit(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            digest, how = self.digest_of_run(folder, "plain")
            self.assertEqual(how, "not interrupted")
            for rank in ("0", "1"):
                with self.subTest(killed=rank):
                    again, how = self.digest_of_run(folder, f"killed-{rank}", KILLED_RANK=rank)
                    self.assertEqual(how, "resumed")
                    self.assertEqual(again, digest)
            # Exit code 75 is not counted as a failure.
            again, how = self.digest_of_run(folder, "stopped", "runPolicy.backoffLimit=0", STOPPED_RANK="1")
            self.assertEqual(how, "stopped")
            self.assertEqual(again, digest)


if __name__ == "__main__":
    unittest.main()
