"""Signatures of images/attest, verified by sigstore's libraries: the program verify in the folder ESPALIER_SIGSTORE
(e2e/tools/build.sh sigstore)."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from supply_chain import provenance
from supply_chain.testing import make_key

VERIFY = pathlib.Path(os.environ["ESPALIER_SIGSTORE"]) / "verify"
IMAGES = pathlib.Path(__file__).resolve().parent
NAME, DIGEST = "registry.example.com/espalier-core", "sha256:" + "ab" * 32


class SigstoreTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-sigstore-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.private, self.public = make_key(self.folder)

    def attest(self, *arguments):
        subprocess.run([sys.executable, IMAGES / "attest", *arguments, "--key", self.private], check=True, timeout=50)

    def verify(self, *arguments, status=0):
        """Runs verify and returns its standard output, or its standard error if it fails."""
        done = subprocess.run([VERIFY, *arguments], capture_output=True, text=True, timeout=50, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr if status else done.stdout

    def test_an_image(self):
        payload = self.folder / "core.json"
        self.attest("sign-image", NAME, "--digest", DIGEST, "--output", payload)
        signature = f"{payload}.sig"
        self.assertEqual(self.verify("image", self.public, payload, signature), f"{NAME}@{DIGEST}\n")
        payload.write_text(payload.read_text().replace("sha256:ab", "sha256:cd"))
        self.assertIn("invalid signature", self.verify("image", self.public, payload, signature, status=1))

    def test_a_file(self):
        file, signature = self.folder / "chart.tgz", self.folder / "chart.tgz.sig"
        file.write_bytes(bytes(range(256)))
        self.attest("sign-file", file, "--output", signature)
        self.verify("blob", self.public, file, signature)
        file.write_bytes(bytes(range(255)))
        self.assertIn("invalid signature", self.verify("blob", self.public, file, signature, status=1))

    def test_a_statement(self):
        statement, envelope = self.folder / "statement.json", self.folder / "statement.dsse.json"
        statement.write_text(json.dumps(provenance.statement(NAME, DIGEST, provenance.SPDX, {"spdxVersion": "SPDX-2.3"})))
        self.attest("sign", statement, "--output", envelope)
        self.verify("envelope", self.public, envelope)
        changed = json.loads(envelope.read_text())
        changed["payload"] = base64.b64encode(statement.read_bytes().replace(b"core", b"cure")).decode()
        envelope.write_text(json.dumps(changed))
        self.assertIn("accepted signatures do not match threshold", self.verify("envelope", self.public, envelope, status=1))


if __name__ == "__main__":
    unittest.main()
