"""SPDX 2.3 documents (JSON) of images and of the chart.

The same input gives the same bytes: times come from the image's configuration or the chart's newest file, the namespace
from the digest.
"""

import hashlib
import re
import urllib.parse
import uuid

from supply_chain.inventory import packages_of

DOCUMENT = "SPDXRef-DOCUMENT"
NAMESPACE = uuid.UUID("5f8e2f8e-53c0-5d6c-9a5c-0d1f4f3f1c0e")  # of the documents' names: any constant
LIBRARIES = {"base": "LIBRARY", "collected": "LIBRARY", "wheel": "LIBRARY", "compiled in": "SOURCE"}
COMMENTS = {"base": "Debian package of the base image",
            "collected": "Debian package of which the files that programs load were collected into the image",
            "wheel": "Python wheel, or libraries of one",
            "compiled in": "Debian package whose headers are compiled into Espalier's programs"}


class Document:
    """Collects elements and relationships; `finish` returns the document as JSON values."""

    def __init__(self, name, digest, created, tool_version):
        namespace = uuid.uuid5(NAMESPACE, f"{name}@{digest}")
        self.value = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": DOCUMENT, "name": name,
            "documentNamespace": f"urn:uuid:{namespace}",
            "creationInfo": {"created": created, "creators": [f"Tool: espalier-images-attest-{tool_version}"]},
            "packages": [], "files": [], "relationships": []}
        self.ids = {DOCUMENT}

    def identifier(self, kind, name):
        base = f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name)
        found, number = base, 1
        while found in self.ids:
            number += 1
            found = f"{base}-{number}"
        self.ids.add(found)
        return found

    def add_package(self, name, version, **fields):
        identifier = self.identifier("Package", name)
        self.value["packages"].append({
            "SPDXID": identifier, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION", **fields})
        return identifier

    def add_file(self, path, sha1, sha256, license_found, **fields):
        identifier = self.identifier("File", path)
        self.value["files"].append({
            "SPDXID": identifier, "fileName": f"./{path}",
            "checksums": [checksum("SHA1", sha1), checksum("SHA256", sha256)], "licenseConcluded": "NOASSERTION",
            "licenseInfoInFiles": [license_found], "copyrightText": "NOASSERTION", **fields})
        return identifier

    def relate(self, element, kind, other):
        self.value["relationships"].append(
            {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": other})

    def finish(self, references):
        if references:
            self.value["hasExtractedLicensingInfos"] = [
                {"licenseId": name, "extractedText": text} for name, text in sorted(references.items())]
        return self.value


def checksum(algorithm, value):
    return {"algorithm": algorithm, "checksumValue": value}


def purl(kind, name, version, **qualifiers):
    """A package URL as an external reference."""
    quoted = [urllib.parse.quote(part, safe="") for part in (name.rpartition("/")[2], version)]
    folder = name.rpartition("/")[0]
    tail = "&".join(f"{key}={urllib.parse.quote(value, safe='/:')}" for key, value in sorted(qualifiers.items()) if value)
    locator = f"pkg:{kind}/{folder + '/' if folder else ''}{quoted[0]}@{quoted[1]}" + (f"?{tail}" if tail else "")
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}


def verification_code(sha1s):
    """SPDX 2.3, 7.9: SHA-1 over the sorted SHA-1s of a package's files."""
    return {"packageVerificationCodeValue": hashlib.sha1("".join(sorted(sha1s)).encode()).hexdigest()}


def image_document(image, pins, tool_version):
    """Returns the document of an oci_archive.Image. `pins`: inventory.wheel_pins()."""
    title, version = image.label("title"), image.label("version")
    packages, references, unowned = packages_of(image, pins)
    created = re.sub(r"(\.\d+)?(Z|\+00:00)$", "Z", image.config.get("created", "1970-01-01T00:00:00Z"))
    document = Document(title, image.digest, created, tool_version)
    root = document.add_package(
        title, version, primaryPackagePurpose="CONTAINER", licenseDeclared=image.label("licenses") or "NOASSERTION",
        checksums=[checksum("SHA256", image.digest.removeprefix("sha256:"))],
        externalRefs=[purl("oci", title, image.digest)],
        licenseComments="Of Espalier itself; each package in the image has its own.")
    document.relate(DOCUMENT, "DESCRIBES", root)
    ours = _add_ours(document, image, version)
    document.relate(root, "CONTAINS", ours)
    for package in packages:
        identifier = _add_found(document, image, package)
        if package.origin == "compiled in":
            document.relate(ours, "STATIC_LINK", identifier)
        else:
            document.relate(root, "CONTAINS", identifier)
    for path in unowned:
        file = image.files[path]
        document.relate(DOCUMENT, "DESCRIBES", document.add_file(path, file.sha1, file.sha256, "NOASSERTION"))
    return document.finish(references)


def _add_ours(document, image, version):
    files = {path: file for path, file in sorted(image.files.items()) if file.is_ours}
    identifier = document.add_package(
        "espalier", version, filesAnalyzed=True, primaryPackagePurpose="APPLICATION", licenseDeclared="Apache-2.0",
        licenseInfoFromFiles=["Apache-2.0"], packageVerificationCode=verification_code(f.sha1 for f in files.values()))
    for path, file in files.items():
        document.relate(identifier, "CONTAINS", document.add_file(path, file.sha1, file.sha256, "Apache-2.0"))
    return identifier


def _add_found(document, image, package):
    fields = {"primaryPackagePurpose": LIBRARIES[package.origin], "comment": COMMENTS[package.origin]}
    if package.origin == "wheel":
        fields["externalRefs"] = [purl("pypi", package.name.lower().replace("_", "-"), package.version)]
    else:
        fields["externalRefs"] = [purl("deb", f"debian/{package.name}", package.version, arch=package.architecture,
                                       distro=distribution(image))]
        fields["supplier"] = "Organization: Debian"
    if package.license:
        fields["licenseDeclared"] = package.license
    if package.license_comment:
        fields["licenseComments"] = package.license_comment
    if package.sha256:
        fields["checksums"] = [checksum("SHA256", package.sha256)]
        fields["sourceInfo"] = "The checksum is that of the wheel that was downloaded from the package index."
    # The image has only some files of a package. A package that was not analyzed contains no files in SPDX, so the files
    # refer to it.
    identifier = document.add_package(package.name, package.version, **fields)
    for path in package.files:
        file = image.files[path]
        added = document.add_file(path, file.sha1, file.sha256, "NOASSERTION")
        document.relate(added, "EXPANDED_FROM_ARCHIVE", identifier)
    return identifier


def distribution(image):
    """`debian-12`, from os-release; empty if the image has none."""
    text = image.texts.get("usr/lib/os-release") or image.texts.get("etc/os-release", "")
    fields = dict(re.findall(r'^([A-Z_]+)="?([^"\n]*)"?$', text, re.MULTILINE))
    return f"{fields['ID']}-{fields['VERSION_ID']}" if {"ID", "VERSION_ID"} <= fields.keys() else ""
