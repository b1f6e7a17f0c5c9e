"""Runs quickstart.sh in a tree that is built: it trains, prints the accuracy, and writes the outputs that it names."""

import os
import re
import subprocess
import unittest

from harness import BIN, SOURCE, Scenario

# Replaces cmake, which would configure the build tree of this test again.
NOTES_ITS_ARGUMENTS = '#!/bin/sh\necho "$@" >>"$(dirname "$0")/asked"\n'


@unittest.skipUnless(BIN == SOURCE / "build/release/bin", "quickstart.sh uses the release preset's programs")
class Quickstart(Scenario):
    def test_it_trains_on_cora_and_prints_the_paths(self):
        cmake = self.dir / "path/cmake"
        cmake.parent.mkdir()
        cmake.write_text(NOTES_ITS_ARGUMENTS)
        cmake.chmod(0o755)
        output = self.dir / "out"
        process = subprocess.run([str(SOURCE / "quickstart.sh"), str(output)], capture_output=True, text=True,
                                 timeout=300, stdin=subprocess.DEVNULL, check=False,
                                 env={**os.environ, "PATH": f"{cmake.parent}:{os.environ['PATH']}"})
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        configured, built = (cmake.parent / "asked").read_text().splitlines()
        self.assertEqual(configured, "--preset release -DESPALIER_TORCH=" + os.environ.get("ESPALIER_TORCH", ""))
        flags, _, targets = built.partition(" --target ")
        self.assertEqual(flags, "--build --preset release")
        for name in targets.split():
            self.assertTrue((BIN / name).is_file(), name)

        accuracy = re.search(r"^Test accuracy on Cora's public split: (\d+\.\d) %$", process.stdout, re.MULTILINE)
        self.assertIsNotNone(accuracy, process.stdout)
        self.assertGreater(float(accuracy[1]), 77)
        listed = process.stdout.partition(f"What the run left in {output}:\n")[2].partition("\nNext:")[0]
        names = [name for line in listed.splitlines() for name in re.findall(r"\S+(?:/|\.json)(?=[ ,])", line)]
        self.assertIn("result.json", names)
        self.assertIn("logits/", names)
        for name in names:
            self.assertTrue((output / name).exists(), name)


if __name__ == "__main__":
    unittest.main()
