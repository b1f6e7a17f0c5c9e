"""Signatures of images/attest, verified by cosign 2 with the commands of docs/operations/supply-chain.md: the program cosign in the
folder ESPALIER_COSIGN (e2e/tools/build.sh cosign). The image is in a registry in this process; there is no network."""

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
from supply_chain.testing import LAYER, MANIFEST, ArchiveMaker, make_key, tar_of

IMAGES = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(IMAGES.parent / "helm/tests"))

from oci_registry import OciRegistry, digest_of  # noqa: E402

COSIGN = os.environ.get("ESPALIER_COSIGN")
REPOSITORY = "espalier-core"


@unittest.skipUnless(COSIGN, "ESPALIER_COSIGN is not set: build cosign with e2e/tools/build.sh cosign")
class CosignTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-cosign-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.private, self.public = make_key(self.folder)
        self.registry = self.enterContext(OciRegistry())
        self.name = f"{self.registry.address}/{REPOSITORY}"

    def attest(self, *arguments):
        subprocess.run([sys.executable, IMAGES / "attest", *arguments, "--key", self.private], check=True, timeout=50)

    def cosign(self, *arguments, status=0):
        """Runs cosign and returns its standard output, or its standard error if it fails."""
        # cosign asks for the keys of the public transparency log, and continues without them. The registry is no proxy and refuses
        # this request at once; the registry itself needs none. The caches of cosign are in the home folder.
        environment = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "HTTPS_PROXY": f"http://{self.registry.address}"}
        done = subprocess.run([pathlib.Path(COSIGN) / "cosign", *arguments], capture_output=True, text=True, timeout=50,
                              check=False, env=environment)
        self.assertEqual(done.returncode != 0, status != 0, done.stdout + done.stderr)
        return done.stderr if status else done.stdout

    def verify(self, command, *arguments, status=0):
        return self.cosign(command, "--key", self.public, "--insecure-ignore-tlog=true", *arguments, status=status)

    def push_image(self, content):
        """Puts an image into the registry, and returns its digest."""
        image = ArchiveMaker([(LAYER, tar_of({"file": content}))], {"version": "0.1.0"})
        for data in image.blobs.values():
            self.registry.blobs[REPOSITORY, digest_of(data)] = data
        digest = image.manifest["digest"]
        manifest = self.registry.blobs.pop((REPOSITORY, digest))
        self.registry.manifests[REPOSITORY, digest] = (MANIFEST, manifest)
        return digest

    def attach(self, payload, digest):
        self.cosign("attach", "signature", "--payload", payload, "--signature", f"{payload}.sig", f"{self.name}@{digest}")

    def test_an_image(self):
        digest, payload = self.push_image(b"core"), self.folder / "core.json"
        self.attest("sign-image", self.name, "--digest", digest, "--output", payload)
        self.assertIn("no signatures found", self.verify("verify", f"{self.name}@{digest}", status=1))
        self.attach(payload, digest)
        [found] = json.loads(self.verify("verify", f"{self.name}@{digest}"))
        self.assertEqual(found["critical"], json.loads(payload.read_bytes())["critical"])

    def test_a_signature_of_another_image(self):
        digest, payload = self.push_image(b"core"), self.folder / "core.json"
        self.attest("sign-image", self.name, "--digest", self.push_image(b"other"), "--output", payload)
        self.attach(payload, digest)
        self.assertIn("invalid or missing digest in claim", self.verify("verify", f"{self.name}@{digest}", status=1))

    def test_a_signature_with_another_key(self):
        digest, payload = self.push_image(b"core"), self.folder / "core.json"
        self.attest("sign-image", self.name, "--digest", digest, "--output", payload)
        self.attach(payload, digest)
        _, self.public = make_key(self.folder, "another")
        self.assertIn("invalid signature", self.verify("verify", f"{self.name}@{digest}", status=1))

    def test_a_file(self):
        file, signature = self.folder / "chart.tgz", self.folder / "chart.tgz.sig"
        file.write_bytes(bytes(range(256)))
        self.attest("sign-file", file, "--output", signature)
        self.verify("verify-blob", "--signature", signature, file)
        file.write_bytes(bytes(range(255)))
        self.assertIn("invalid signature", self.verify("verify-blob", "--signature", signature, file, status=1))

    def test_a_statement_beside_its_image(self):
        digest = self.push_image(b"core")
        statement, envelope = self.folder / "statement.json", self.folder / "statement.dsse.json"
        statement.write_text(json.dumps(provenance.statement(self.name, digest, provenance.SPDX, {"spdxVersion": "SPDX-2.3"})))
        self.attest("sign", statement, "--output", envelope)
        self.cosign("attach", "attestation", "--attestation", envelope, f"{self.name}@{digest}")
        found = json.loads(self.verify("verify-attestation", "--type", "spdxjson", f"{self.name}@{digest}"))
        self.assertEqual(base64.b64decode(found["payload"]), statement.read_bytes())
        other = self.push_image(b"other")
        self.cosign("attach", "attestation", "--attestation", envelope, f"{self.name}@{other}")
        self.assertIn("no matching subject digest found",
                      self.verify("verify-attestation", "--type", "spdxjson", f"{self.name}@{other}", status=1))

    def verify_statement(self, kind, envelope, digest, status=0):
        return self.verify("verify-blob-attestation", "--type", kind, "--signature", envelope, "--digest",
                           digest.removeprefix("sha256:"), "--digestAlg", "sha256", status=status)

    def test_statements(self):
        statement, envelope = self.folder / "statement.json", self.folder / "statement.dsse.json"
        digest, other = "sha256:" + "ab" * 32, "sha256:" + "cd" * 32
        for kind, other_kind, predicate in (("spdxjson", "slsaprovenance1", provenance.SPDX),
                                            ("slsaprovenance1", "spdxjson", provenance.SLSA)):
            with self.subTest(kind):
                statement.write_text(json.dumps(provenance.statement("espalier-core", digest, predicate, {})))
                self.attest("sign", statement, "--output", envelope)
                self.verify_statement(kind, envelope, digest)
                self.assertIn("no matching subject digest found", self.verify_statement(kind, envelope, other, status=1))
                self.assertIn("invalid predicate type", self.verify_statement(other_kind, envelope, digest, status=1))

    def test_a_changed_statement(self):
        statement, envelope = self.folder / "statement.json", self.folder / "statement.dsse.json"
        digest = "sha256:" + "ab" * 32
        statement.write_text(json.dumps(provenance.statement("espalier-core", digest, provenance.SPDX, {})))
        self.attest("sign", statement, "--output", envelope)
        changed = json.loads(envelope.read_text())
        changed["payload"] = base64.b64encode(statement.read_bytes().replace(b"core", b"cure")).decode()
        envelope.write_text(json.dumps(changed))
        self.assertIn("accepted signatures do not match threshold", self.verify_statement("spdxjson", envelope, digest, status=1))


if __name__ == "__main__":
    unittest.main()
