"""images/attest, run as a program: documents of an image and a chart that this test makes, and signatures with a temporary key,
which openssl verifies too."""

import base64
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

from supply_chain import inventory, signatures
from supply_chain.testing import LAYER, ArchiveMaker, digest_of, make_key, tar_of

HELM = os.environ.get("ESPALIER_HELM")
IMAGES = pathlib.Path(__file__).resolve().parent
REPOSITORY = IMAGES.parent
VERSION = re.search(r"^project\(Espalier VERSION ([0-9.]+)", (REPOSITORY / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
ELF = b"\x7fELF"
REVISION = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "sha256:" + "ab" * 32
DOC = "usr/share/doc"
PYTHON = "usr/local/lib/python3.11/dist-packages"
NUMPY = next((version, sha256) for (name, version), sha256 in inventory.wheel_pins().items() if name == "numpy")
DEP5 = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: somebody
License: GPL-2+ or Expat

Files: parts/*
License: Odd
 Do what is odd,
 .
 twice.

Files: debian/*
License: GPL-3
"""
BASE = {
    "var/lib/dpkg/status": b"""Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9+deb12u13

Package: libold
Status: install ok installed
Architecture: amd64
Version: 1:1.0-1

Package: removed
Status: deinstall ok config-files
Version: 1
""",
    "usr/lib/os-release": b'ID=debian\nVERSION_ID="12"\n',
    f"{DOC}/libc6/copyright": b"This package was put together by hand.",
    "usr/lib/libc.so.6": ELF + b"the C library", "usr/lib/libold.so.1": ELF + b"old", "usr/lib/gone.so": ELF + b"deleted later"}
COLLECTED = {
    f"{DOC}/espalier/packages.txt":
        f"libold=1:2.0-1\nheaders=3 (compiled in)\nnumpy={NUMPY[0]} (wheel)\ntorch=2.11.0 (wheel)\n".encode(),
    f"{DOC}/espalier/files.txt": b"libold\t/usr/lib/libold.so.1\n",
    f"{DOC}/libold/copyright": DEP5.encode(), f"{DOC}/headers/copyright": DEP5.replace("GPL-2+ or Expat", "BSL-1.0").encode(),
    f"{DOC}/torch/METADATA": b"Name: torch\nVersion: 2.11.0\nLicense: BSD-3-Clause\n",
    f"{DOC}/torch/RECORD": b"torch/lib/libtorch_cpu.so,sha256=x,1\n",
    f"{PYTHON}/numpy-{NUMPY[0]}.dist-info/METADATA": b"Name: numpy\nLicense-Expression: BSD-3-Clause AND MIT\n",
    f"{PYTHON}/numpy-{NUMPY[0]}.dist-info/RECORD": b"numpy/core.so,sha256=x,1\nnumpy/__init__.py,sha256=x,1\n",
    f"{PYTHON}/numpy/core.so": ELF + b"numpy", f"{PYTHON}/numpy/__init__.py": b"a module",
    f"{PYTHON}/espalier/__init__.py": b"ours",
    "usr/bin/espalier": ELF + b"the command line", "usr/bin/other": ELF + b"of no package",
    "usr/lib/libold.so.1": ELF + b"newer", "usr/lib/espalier/libtorch_cpu.so": ELF + b"torch",
    "usr/lib/.wh.gone.so": b""}
LABELS = {"title": "espalier-core", "licenses": "Apache-2.0", "version": VERSION, "revision": REVISION}
RECORD = f"""image=core
reference=registry.example.com/espalier-core:{VERSION}
base=debian:bookworm-slim
base-digest={DIGEST}
binaries=compiled
tag={VERSION}
tool=buildah
revision={REVISION}
changed=no
started=2026-11-02T03:00:00Z
finished=2026-11-02T03:04:05Z
"""
# From the schema of SPDX 2.3 (spdx/spdx-spec, schemas/spdx-schema.json): required fields, and all that are allowed.
REQUIRED = {
    "": {"SPDXID", "creationInfo", "dataLicense", "name", "spdxVersion", "documentNamespace"},
    "packages": {"SPDXID", "downloadLocation", "name"}, "files": {"SPDXID", "checksums", "fileName"},
    "relationships": {"spdxElementId", "relatedSpdxElement", "relationshipType"},
    "hasExtractedLicensingInfos": {"extractedText", "licenseId"}}
ALLOWED = {
    "": REQUIRED[""] | {"packages", "files", "relationships", "hasExtractedLicensingInfos"},
    "packages": REQUIRED["packages"] | {
        "versionInfo", "filesAnalyzed", "licenseConcluded", "licenseDeclared", "copyrightText", "primaryPackagePurpose",
        "checksums", "externalRefs", "licenseComments", "licenseInfoFromFiles", "packageVerificationCode", "comment",
        "supplier", "sourceInfo", "packageFileName"},
    "files": REQUIRED["files"] | {"licenseConcluded", "licenseInfoInFiles", "copyrightText"},
    "relationships": REQUIRED["relationships"], "hasExtractedLicensingInfos": REQUIRED["hasExtractedLicensingInfos"]}
PURPOSES = {"OTHER", "INSTALL", "ARCHIVE", "FIRMWARE", "APPLICATION", "FRAMEWORK", "LIBRARY", "CONTAINER", "SOURCE", "DEVICE",
            "OPERATING-SYSTEM", "FILE"}


def statement_of(digest):
    digests = {"sha256": digest.removeprefix("sha256:")} if digest else {}
    return {"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": "core", "digest": digests}]}


class AttestTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-attest-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def attest(self, *words, status=0):
        """Runs images/attest and returns its standard output, or its standard error if it fails."""
        done = subprocess.run([sys.executable, IMAGES / "attest", *map(str, words)], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr if status else done.stdout

    def image(self, name="espalier-core.tar", collected=COLLECTED, labels=LABELS):
        base = tar_of(BASE, kinds={"usr/lib/link.so": (tarfile.LNKTYPE, "usr/lib/libc.so.6")})
        layers = [(LAYER + "+gzip", gzip.compress(base, mtime=0)), (LAYER, tar_of(collected))]
        self.maker = ArchiveMaker(layers, labels)
        return self.maker.write(self.folder / name)

    def document(self):
        return json.loads(self.attest("sbom", self.image()))

    def check_spdx(self, document):
        """Checks the schema's required and allowed fields, and the references inside the document."""
        self.assertEqual((document["spdxVersion"], document["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
        self.assertRegex(document["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertTrue(document["creationInfo"]["creators"][0].startswith("Tool: "))
        for section in REQUIRED:
            for element in [document] if section == "" else document.get(section, []):
                self.assertLessEqual(REQUIRED[section], element.keys())
                self.assertLessEqual(element.keys(), ALLOWED[section])
        elements = [*document["packages"], *document["files"]]
        ids = [element["SPDXID"] for element in elements]
        self.assertEqual(len(ids), len(set(ids)))
        for element in elements:
            self.assertRegex(element["SPDXID"], r"^SPDXRef-[a-zA-Z0-9.-]+$")
            for checksum in element.get("checksums", []):
                digits = {"SHA1": 40, "SHA256": 64}[checksum["algorithm"]]
                self.assertRegex(checksum["checksumValue"], f"^[0-9a-f]{{{digits}}}$")
        for file in document["files"]:  # SPDX 2.3, 8.4: SHA-1 is mandatory
            self.assertEqual([checksum["algorithm"] for checksum in file["checksums"]], ["SHA1", "SHA256"])
        for package in document["packages"]:
            self.assertIn(package["primaryPackagePurpose"], PURPOSES)
            self.assertEqual(package["filesAnalyzed"], "packageVerificationCode" in package)
        for relationship in document["relationships"]:
            self.assertLessEqual({relationship["spdxElementId"], relationship["relatedSpdxElement"]},
                                 {"SPDXRef-DOCUMENT", *ids})
        references = set(re.findall(r"LicenseRef-[A-Za-z0-9.-]+", json.dumps(document["packages"])))
        self.assertEqual(references, {info["licenseId"] for info in document.get("hasExtractedLicensingInfos", [])})

    def related(self, document, kind):
        """(name, name) of the elements with relationships of this kind."""
        names = {element["SPDXID"]: element.get("name") or element["fileName"]
                 for element in [document, *document["packages"], *document["files"]]}
        return {(names[one["spdxElementId"]], names[one["relatedSpdxElement"]])
                for one in document["relationships"] if one["relationshipType"] == kind}

    def test_the_document_of_an_image_is_valid_and_always_the_same(self):
        document = self.document()
        self.check_spdx(document)
        self.assertEqual(document["creationInfo"]["created"], "2026-11-02T03:04:05Z")
        self.assertEqual(self.document(), document)

    def test_packages_have_versions_licenses_and_urls(self):
        packages = [package for package in self.document()["packages"] if package["name"] not in ("espalier-core", "espalier")]
        self.assertEqual(
            [(p["name"], p["versionInfo"], p["licenseDeclared"], p["externalRefs"][0]["referenceLocator"]) for p in packages],
            [("libc6", "2.36-9+deb12u13", "NOASSERTION",
              "pkg:deb/debian/libc6@2.36-9%2Bdeb12u13?arch=amd64&distro=debian-12"),
             ("libold", "1:1.0-1", "(GPL-2.0-or-later OR MIT) AND LicenseRef-libold-Odd",
              "pkg:deb/debian/libold@1%3A1.0-1?arch=amd64&distro=debian-12"),
             ("libold", "1:2.0-1", "(GPL-2.0-or-later OR MIT) AND LicenseRef-libold-Odd",
              "pkg:deb/debian/libold@1%3A2.0-1?distro=debian-12"),
             ("headers", "3", "BSL-1.0 AND LicenseRef-headers-Odd", "pkg:deb/debian/headers@3?distro=debian-12"),
             ("numpy", NUMPY[0], "BSD-3-Clause AND MIT", f"pkg:pypi/numpy@{NUMPY[0]}"),
             ("torch", "2.11.0", "BSD-3-Clause", "pkg:pypi/torch@2.11.0")])
        [numpy] = [package for package in packages if package["name"] == "numpy"]
        self.assertEqual(numpy["checksums"], [{"algorithm": "SHA256", "checksumValue": NUMPY[1]}])

    def test_a_license_of_another_name_has_its_text(self):
        infos = {info["licenseId"]: info["extractedText"] for info in self.document()["hasExtractedLicensingInfos"]}
        self.assertEqual(infos["LicenseRef-libold-Odd"], "Do what is odd,\n.\ntwice.")

    def test_the_image_has_its_digest_and_what_it_contains(self):
        document = self.document()
        [image] = [package for package in document["packages"] if package["name"] == "espalier-core"]
        digest = self.maker.manifest["digest"]
        self.assertEqual(image["checksums"], [{"algorithm": "SHA256", "checksumValue": digest.removeprefix("sha256:")}])
        self.assertEqual(image["externalRefs"][0]["referenceLocator"], f"pkg:oci/espalier-core@{digest.replace(':', '%3A')}")
        self.assertEqual((image["versionInfo"], image["licenseDeclared"]), (VERSION, "Apache-2.0"))
        self.assertLessEqual({("espalier-core", name) for name in ("espalier", "libc6", "libold", "numpy", "torch")},
                             self.related(document, "CONTAINS"))
        self.assertEqual(self.related(document, "STATIC_LINK"), {("espalier", "headers")})

    def test_our_files_and_collected_libraries_are_hashed(self):
        document = self.document()
        files = {file["fileName"]: file["checksums"] for file in document["files"]}
        data = {"./" + path: COLLECTED[path] for path in (
            "usr/bin/espalier", f"{PYTHON}/espalier/__init__.py", f"{PYTHON}/numpy/core.so", "usr/lib/libold.so.1",
            "usr/lib/espalier/libtorch_cpu.so", "usr/bin/other")}
        self.assertEqual(files, {name: [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
                                        {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}]
                                 for name, content in data.items()})
        self.assertEqual(self.related(document, "EXPANDED_FROM_ARCHIVE"), {
            ("./usr/lib/libold.so.1", "libold"), (f"./{PYTHON}/numpy/core.so", "numpy"),
            ("./usr/lib/espalier/libtorch_cpu.so", "torch")})
        self.assertIn(("espalier-core", "./usr/bin/other"), self.related(document, "DESCRIBES"))
        ours = sorted(hashlib.sha1(COLLECTED[path]).hexdigest()
                      for path in ("usr/bin/espalier", f"{PYTHON}/espalier/__init__.py"))
        [espalier] = [package for package in document["packages"] if package["name"] == "espalier"]
        self.assertEqual(espalier["packageVerificationCode"]["packageVerificationCodeValue"],
                         hashlib.sha1("".join(ours).encode()).hexdigest())

    def test_an_archive_in_a_nested_index_is_read_without_its_attestation(self):
        path = self.image()
        platform = self.maker.manifest | {"platform": {"os": "linux", "architecture": "amd64"}}
        other = self.maker.descriptor(self.maker.manifest["mediaType"], b"{}") | {"platform": {"os": "unknown"}}
        nested = json.dumps({"manifests": [platform, other]}).encode()
        self.maker.index["manifests"] = [self.maker.descriptor("application/vnd.oci.image.index.v1+json", nested)]
        self.maker.write(path)
        self.check_spdx(json.loads(self.attest("sbom", path)))

    def test_a_foreign_image_is_refused(self):
        path = self.image(collected={"usr/bin/espalier": ELF})
        self.assertIn("the image has no /usr/share/doc/espalier/packages.txt: expected an image that images/build has made",
                      self.attest("sbom", path, status=1))
        path = self.image()
        self.maker.index["manifests"] *= 2
        self.maker.write(path)
        self.assertIn("has 2 images, expected 1", self.attest("sbom", path, status=1))
        path.write_bytes(b"no archive")
        self.assertIn("expected an OCI archive with index.json and blobs", self.attest("sbom", path, status=1))

    def test_other_json_is_refused(self):
        for index in ([], {"manifests": 5}, {"manifests": [5]}):
            with self.subTest(index):
                archive = ArchiveMaker([], {})
                archive.index = index
                path = archive.write(self.folder / "image.tar")
                self.assertIn("expected an OCI archive with index.json and blobs", self.attest("sbom", path, status=1))

    def test_a_damaged_layer_is_refused(self):
        path = self.image()
        name = next(name for name, data in self.maker.blobs.items() if b"the command line" in data)
        self.maker.blobs[name] = self.maker.blobs[name].replace(b"the command line", b"another program!")
        self.maker.write(path)
        self.assertIn("the archive is damaged", self.attest("sbom", path, status=1))

    def provenance(self, path, *words, status=0):
        return self.attest("provenance", path, "--source", "https://git.example.com/espalier", "--builder",
                           "https://ci.example.com/espalier", *words, status=status)

    def write_record(self, text=RECORD):
        (self.folder / "espalier-core.build").write_text(text)

    def test_provenance_names_image_sources_base_and_wheels(self):
        self.write_record()
        statement = json.loads(self.provenance(self.image()))
        self.assertEqual(statement["_type"], "https://in-toto.io/Statement/v1")
        self.assertEqual(statement["predicateType"], "https://slsa.dev/provenance/v1")
        self.assertEqual(statement["subject"], [{
            "name": f"registry.example.com/espalier-core:{VERSION}",
            "digest": {"sha256": self.maker.manifest["digest"].removeprefix("sha256:")}}])
        definition, run = statement["predicate"]["buildDefinition"], statement["predicate"]["runDetails"]
        self.assertEqual(definition["buildType"], "tag:espalier.io,2026:images-build/v1")
        self.assertEqual(definition["externalParameters"], {"image": "core", "base": "debian:bookworm-slim",
                                                            "binaries": "compiled", "tag": VERSION})
        source, base, *wheels = definition["resolvedDependencies"]
        self.assertEqual(source, {"uri": f"git+https://git.example.com/espalier@{REVISION}",
                                  "digest": {"gitCommit": REVISION}, "name": "source"})
        self.assertEqual(base, {"uri": "docker:debian:bookworm-slim", "name": "base",
                                "digest": {"sha256": DIGEST.removeprefix("sha256:")}})
        self.assertIn({"uri": f"pkg:pypi/numpy@{NUMPY[0]}", "digest": {"sha256": NUMPY[1]}}, wheels)
        self.assertEqual(run["builder"], {"id": "https://ci.example.com/espalier"})
        self.assertEqual(run["metadata"], {"startedOn": "2026-11-02T03:00:00Z", "finishedOn": "2026-11-02T03:04:05Z"})

    def test_provenance_names_the_architecture_that_was_asked_for(self):
        self.write_record(RECORD + "architecture=arm64\n")
        definition = json.loads(self.provenance(self.image()))["predicate"]["buildDefinition"]
        self.assertEqual(definition["externalParameters"], {
            "image": "core", "architecture": "arm64", "base": "debian:bookworm-slim", "binaries": "compiled", "tag": VERSION})

    def test_provenance_takes_the_digest_of_a_registry(self):
        self.write_record()
        statement = json.loads(self.provenance(self.image(), "--digest", DIGEST))
        self.assertEqual(statement["subject"][0]["digest"], {"sha256": DIGEST.removeprefix("sha256:")})
        self.assertIn("--digest sha256:12: expected sha256: and 64 hexadecimal digits",
                      self.provenance(self.image(), "--digest", "sha256:12", status=1))

    def test_provenance_without_its_facts_is_refused(self):
        path = self.image()
        self.assertIn("there is no build record; images/build --archive writes it", self.provenance(path, status=1))
        for text, message in (
                (RECORD.replace("changed=no", "changed=yes"), f"sources that differ from revision {REVISION}"),
                (RECORD.replace("tool=buildah\n", ""), "the build record lacks tool"),
                (RECORD.replace("image=core", "image=trainer"), "has title espalier-core, its build record espalier-trainer"),
                (RECORD.replace(f"tag={VERSION}", "tag=other"), f"has version {VERSION}, its build record other"),
                (RECORD.replace(REVISION, REVISION[::-1]), f"the image has revision {REVISION}, its build record")):
            self.write_record(text)
            self.assertIn(message, self.provenance(path, status=1))
        self.write_record(RECORD.replace(REVISION, "unknown"))
        path = self.image(labels=LABELS | {"revision": "unknown"})
        self.assertIn("revision unknown: expected a full commit id", self.provenance(path, status=1))

    def test_a_signed_image_is_verified_by_openssl_too(self):
        private, public = make_key(self.folder)
        payload = self.folder / "payload.json"
        self.attest("sign-image", "registry.example.com/espalier-core", "--digest", DIGEST, "--key", private,
                    "--output", payload)
        self.assertEqual(json.loads(payload.read_text()), {
            "critical": {"identity": {"docker-reference": "registry.example.com/espalier-core"},
                         "image": {"docker-manifest-digest": DIGEST}, "type": "cosign container image signature"},
            "optional": None})
        raw = self.folder / "raw.sig"
        raw.write_bytes(base64.b64decode((self.folder / "payload.json.sig").read_text(), validate=True))
        verified = subprocess.run(["openssl", "dgst", "-sha256", "-verify", public, "-signature", raw, payload],
                                  capture_output=True, text=True)
        self.assertEqual((verified.returncode, verified.stdout), (0, "Verified OK\n"))
        self.attest("verify-image", payload, "--digest", DIGEST, "--key", public)

        other = "sha256:" + "cd" * 32
        self.assertIn(f"the signature is for {DIGEST}, expected {other}",
                      self.attest("verify-image", payload, "--digest", other, "--key", public, status=1))
        _, stranger = make_key(self.folder, "stranger")
        message = "the signature was not made by the key of"
        self.assertIn(message, self.attest("verify-image", payload, "--digest", DIGEST, "--key", stranger, status=1))
        payload.write_text(payload.read_text().replace("ab", "cd", 1))
        self.assertIn(message, self.attest("verify-image", payload, "--digest", DIGEST, "--key", public, status=1))

    def test_a_signed_statement_is_verified_and_printed(self):
        private, public = make_key(self.folder)
        document, statement, envelope = (self.folder / name for name in ("sbom.json", "statement.json", "envelope.json"))
        document.write_text(json.dumps(self.document()))
        self.attest("statement", document, "--name", "espalier-core", "--digest", DIGEST, "--output", statement)
        self.attest("sign", statement, "--key", private, "--output", envelope)
        verified = json.loads(self.attest("verify", envelope, "--digest", DIGEST, "--key", public))
        self.assertEqual(verified["predicateType"], "https://spdx.dev/Document")
        self.assertEqual(verified["predicate"], json.loads(document.read_text()))

        other = "sha256:" + "cd" * 32
        self.assertIn(f"the statement is about {DIGEST}, expected {other}",
                      self.attest("verify", envelope, "--digest", other, "--key", public, status=1))
        changed = json.loads(envelope.read_text())
        changed["payload"] = base64.b64encode(statement.read_bytes().replace(b"ab", b"cd")).decode()
        envelope.write_text(json.dumps(changed))
        self.assertIn("the signature was not made by the key of",
                      self.attest("verify", envelope, "--digest", DIGEST, "--key", public, status=1))

    def test_the_envelope_signs_type_and_length(self):
        """Computes the pre-authentication encoding of DSSE here again, independently of images/attest."""
        private, public = make_key(self.folder)
        statement = self.folder / "statement.json"
        text = json.dumps(statement_of("sha256:" + "ab" * 32))
        statement.write_text(text)
        envelope = json.loads(self.attest("sign", statement, "--key", private))
        self.assertEqual(envelope["payloadType"], "application/vnd.in-toto+json")
        signed, raw = self.folder / "signed", self.folder / "raw.sig"
        signed.write_text(f"DSSEv1 28 application/vnd.in-toto+json {len(text)} {text}")
        raw.write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
        subprocess.run(["openssl", "dgst", "-sha256", "-verify", public, "-signature", raw, signed], check=True,
                       capture_output=True)

    def test_an_invalid_statement_is_neither_signed_nor_verified(self):
        private, public = make_key(self.folder)
        file, message = self.folder / "other.json", "expected an in-toto statement (https://in-toto.io/Statement/v1) with"
        for value in ({}, [], {"_type": "https://in-toto.io/Statement/v1", "subject": []}, statement_of(None)):
            with self.subTest(value):
                file.write_text(json.dumps(value))
                self.assertIn(message, self.attest("sign", file, "--key", private, status=1))
        envelope = self.folder / "envelope.json"
        envelope.write_text(json.dumps(signatures.envelope(b"{}", private)))
        self.assertIn(message, self.attest("verify", envelope, "--digest", DIGEST, "--key", public, status=1))
        file.write_text("[]")
        self.assertIn("expected an SPDX 2.3 document in JSON",
                      self.attest("statement", file, "--name", "core", "--digest", DIGEST, status=1))

    def test_a_signed_file_is_verified(self):
        private, public = make_key(self.folder)
        file, signature = self.folder / "espalier-0.1.0.tgz", self.folder / "espalier-0.1.0.tgz.sig"
        file.write_bytes(b"a chart")
        self.attest("sign-file", file, "--key", private, "--output", signature)
        self.attest("verify-file", file, "--signature", signature, "--key", public)
        file.write_bytes(b"another chart")
        self.assertIn("the signature was not made by the key of",
                      self.attest("verify-file", file, "--signature", signature, "--key", public, status=1))

    def test_a_key_that_cosign_does_not_read_is_refused(self):
        private, _ = make_key(self.folder, "p384", "secp384r1")
        file = self.folder / "file"
        file.write_text("x")
        self.assertIn("expected an ECDSA key on the curve P-256", self.attest("sign-file", file, "--key", private, status=1))
        self.assertIn("openssl cannot read the key", self.attest("sign-file", file, "--key", file, status=1))

    def repository(self):
        """A copy of the chart and of images/attest in a git repository of one commit; returns its folder and commit."""
        folder = self.folder / "repository"
        shutil.copytree(REPOSITORY / "helm/espalier", folder / "helm/espalier")
        for name in ("images/attest", "images/supply_chain", "CMakeLists.txt", *inventory.WHEEL_PINS):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            source = REPOSITORY / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
        git = ["git", "-C", folder, "-c", "user.name=test", "-c", "user.email=test@example.com"]
        for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "test"]):
            subprocess.run([*git, *words], check=True, capture_output=True)
        commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        return folder, commit

    def chart(self, **changes):
        """Packages the chart as helm does: without tests, and with a rewritten Chart.yaml."""
        chart = REPOSITORY / "helm/espalier"
        files = {f"espalier/{path.relative_to(chart)}": path.read_bytes() for path in sorted(chart.rglob("*"))
                 if path.is_file() and path.relative_to(chart).parts[0] != "tests"}
        lines = [line for line in files["espalier/Chart.yaml"].decode().splitlines()
                 if re.match("(name|version|appVersion):", line)]
        files["espalier/Chart.yaml"] = "\n".join(sorted(lines)).encode()
        path = self.folder / f"espalier-{VERSION}.tgz"
        path.write_bytes(tar_of(files | changes, mode="w:gz"))
        return path

    def test_the_document_of_the_chart_has_its_files_and_images(self):
        path = self.chart()
        document = json.loads(self.attest("sbom", path))
        self.check_spdx(document)
        [chart] = [package for package in document["packages"] if package["name"] == "espalier"]
        self.assertEqual(chart["checksums"], [{"algorithm": "SHA256",
                                               "checksumValue": digest_of(path.read_bytes()).removeprefix("sha256:")}])
        self.assertIn("./templates/deployment.yaml", {file["fileName"] for file in document["files"]})
        self.assertEqual(self.related(document, "DEPENDS_ON"),
                         {("espalier", "espalier-core"), ("espalier", "espalier-trainer"), ("espalier", "espalier-trainer-cuda")})

    def chart_provenance(self, path, *words, status=0):
        folder, commit = self.repository()
        done = subprocess.run(
            [sys.executable, folder / "images/attest", "provenance", path, "--revision", commit, "--source",
             "https://git.example.com/espalier", "--builder", "https://ci.example.com/espalier", *words],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return commit, (done.stderr if status else json.loads(done.stdout))

    def test_a_damaged_chart_is_refused(self):
        path = self.chart()
        data = path.read_bytes()
        changed = data[:1000] + bytes(byte ^ 255 for byte in data[1000:1100]) + data[1100:]
        for damaged in (data[:1000], changed, b"", b"no archive"):
            with self.subTest(len(damaged)):
                path.write_bytes(damaged)
                self.assertIn("expected a chart's archive, as helm package makes it", self.attest("sbom", path, status=1))

    def test_provenance_of_the_chart_is_compared_with_its_revision(self):
        path = self.chart()
        commit, statement = self.chart_provenance(path)
        self.assertEqual(statement["subject"], [{"name": path.name, "digest": {
            "sha256": digest_of(path.read_bytes()).removeprefix("sha256:")}}])
        self.assertEqual(statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"], {"gitCommit": commit})
        self.assertIn("needs --revision", self.provenance(path, status=1))

    def test_provenance_of_the_chart_takes_the_digest_of_a_registry(self):
        _, statement = self.chart_provenance(self.chart(), "--digest", DIGEST)
        self.assertEqual(statement["subject"][0]["digest"], {"sha256": DIGEST.removeprefix("sha256:")})

    @unittest.skipUnless(HELM, "ESPALIER_HELM is not set")
    def test_a_chart_that_helm_has_packaged_is_that_of_its_revision(self):
        subprocess.run([pathlib.Path(HELM) / "helm", "package", REPOSITORY / "helm/espalier", "--destination", self.folder],
                       check=True, capture_output=True, timeout=60)
        path = self.folder / f"espalier-{VERSION}.tgz"
        self.check_spdx(json.loads(self.attest("sbom", path)))
        _, statement = self.chart_provenance(path)
        self.assertEqual(statement["subject"][0]["name"], path.name)

    def test_provenance_of_a_changed_chart_is_refused(self):
        _, message = self.chart_provenance(self.chart(**{"espalier/values.yaml": b"other: values\n"}), status=1)
        self.assertIn("values.yaml has other contents", message)

    def test_provenance_of_a_chart_with_another_file_is_refused(self):
        _, message = self.chart_provenance(self.chart(**{"espalier/templates/more.yaml": b""}), status=1)
        self.assertIn("templates/more.yaml is only in one of them", message)


if __name__ == "__main__":
    unittest.main()
