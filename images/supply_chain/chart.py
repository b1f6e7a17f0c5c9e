"""The chart as helm packages it: a gzipped tar with one folder of the chart's name."""

import dataclasses
import datetime
import hashlib
import re
import subprocess
import tarfile
import zlib

from supply_chain.errors import AttestError
from supply_chain.spdx import DOCUMENT, Document, checksum, purl, verification_code

SOURCE = "helm/espalier"  # in the repository


@dataclasses.dataclass
class Chart:
    name: str
    version: str
    app_version: str
    sha256: str  # of the archive
    created: str  # newest time in the archive
    files: dict  # path below the chart's folder: bytes


def read_chart(path):
    """Returns the Chart in `path`, which `helm package` has made."""
    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with tarfile.open(path, "r:gz") as archive:
            members = [member for member in archive if member.isfile()]
            files = {member.name.partition("/")[2]: archive.extractfile(member).read() for member in members}
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise AttestError(f"{path}: expected a chart's archive, as helm package makes it: {error}") from error
    folders = {member.name.partition("/")[0] for member in members}
    fields = dict(re.findall(r'^(name|version|appVersion): *"?([^"\s]+)"?\s*$', files.get("Chart.yaml", b"").decode(),
                             re.MULTILINE))
    if len(fields) != 3 or folders != {fields["name"]}:
        raise AttestError(f"{path}: expected one folder with a Chart.yaml that has name, version and appVersion")
    newest = datetime.datetime.fromtimestamp(max(member.mtime for member in members), datetime.timezone.utc)
    return Chart(fields["name"], fields["version"], fields["appVersion"], digest, newest.strftime("%Y-%m-%dT%H:%M:%SZ"), files)


def chart_document(chart, tool_version):
    """The SPDX document of a chart, its files, and the images that it runs by default."""
    document = Document(f"{chart.name}-chart", f"sha256:{chart.sha256}", chart.created, tool_version)
    hashes = {path: (hashlib.sha1(data).hexdigest(), hashlib.sha256(data).hexdigest())
              for path, data in sorted(chart.files.items())}
    root = document.add_package(
        chart.name, chart.version, filesAnalyzed=True, primaryPackagePurpose="INSTALL", licenseDeclared="Apache-2.0",
        licenseInfoFromFiles=["Apache-2.0"], packageVerificationCode=verification_code(sha1 for sha1, _ in hashes.values()),
        checksums=[checksum("SHA256", chart.sha256)], packageFileName=f"{chart.name}-{chart.version}.tgz",
        externalRefs=[purl("helm", chart.name, chart.version)])
    document.relate(DOCUMENT, "DESCRIBES", root)
    for path, (sha1, sha256) in hashes.items():
        document.relate(root, "CONTAINS", document.add_file(path, sha1, sha256, "Apache-2.0"))
    for image in ("core", "trainer", "trainer-cuda"):
        name = f"espalier-{image}"
        document.relate(root, "DEPENDS_ON", document.add_package(
            name, chart.app_version, primaryPackagePurpose="CONTAINER", licenseDeclared="Apache-2.0",
            externalRefs=[purl("oci", name, chart.app_version)]))
    return document.finish({})


def check_against_revision(chart, repository, revision):
    """Raises AttestError unless the archive has exactly the files of SOURCE in `revision` that .helmignore admits.

    helm writes Chart.yaml anew, so its name and versions are compared, and every other file byte by byte."""
    listed = _git(repository, "ls-tree", "-r", "--name-only", f"{revision}:{SOURCE}").decode().splitlines()
    ignored = [line.rstrip("/") + "/" for line in _git(repository, "show", f"{revision}:{SOURCE}/.helmignore")
               .decode().splitlines() if line.endswith("/")]
    expected = {path for path in listed if not path.startswith(tuple(ignored))}
    # helm may leave .helmignore itself in or out.
    if difference := (expected ^ chart.files.keys()) - {".helmignore"}:
        raise AttestError(f"the chart differs from {SOURCE} of revision {revision}: {min(difference)} is only in one of them")
    for path in sorted(expected & chart.files.keys()):
        committed = _git(repository, "show", f"{revision}:{SOURCE}/{path}")
        if path == "Chart.yaml":
            fields = dict(re.findall(r'^(version|appVersion): *"?([^"\s]+)"?\s*$', committed.decode(), re.MULTILINE))
            same = fields == {"version": chart.version, "appVersion": chart.app_version}
        else:
            same = committed == chart.files[path]
        if not same:
            raise AttestError(f"the chart differs from {SOURCE} of revision {revision}: {path} has other contents")


def _git(repository, *arguments):
    done = subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        raise AttestError(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}")
    return done.stdout
