"""Reads an image from an OCI archive: `images/build --archive`, or `docker save` of Docker 25 or newer.

The layers are read once, in order, as streams, because an image with PyTorch has several gigabytes. Texts of packages
(dpkg's status, copyright files, metadata of wheels) are kept; programs and shared libraries, and all files of Espalier,
are hashed. A later layer replaces or deletes (`.wh.NAME`, `.wh..wh..opq`) what an earlier one has. Each blob is verified
against its digest before it is used.
"""

import dataclasses
import hashlib
import json
import posixpath
import re
import tarfile
import zlib

from supply_chain.errors import AttestError

MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
LAYER = re.compile(r"\.tar([+.]gzip)?$")  # media types of layers
PACKAGES = "usr/share/doc/espalier/packages.txt"  # written by collect.sh into the layer of everything that it collects
OURS = re.compile(r"usr/bin/(espalier|kubectl-espalier)[^/]*|usr/lib/espalier/espalier_[^/]*|"
                  r"usr/local/lib/python3[^/]*/dist-packages/espalier/.*")
TEXTS = re.compile(r"var/lib/dpkg/status|var/lib/dpkg/status\.d/[^/]+|etc/os-release|usr/lib/os-release|"
                   r"usr/share/doc/espalier/[^/]*\.txt|usr/share/doc/[^/]+/(copyright|METADATA|RECORD)|"
                   r"usr/local/lib/python3[^/]*/dist-packages/[^/]+\.dist-info/(METADATA|RECORD)")


@dataclasses.dataclass(frozen=True)
class ImageFile:
    """A program, a shared library or a file of Espalier. `layer` counts from 0 at the base."""
    layer: int
    sha1: str
    sha256: str
    is_ours: bool


@dataclasses.dataclass
class Image:
    """The content of an archive. Paths are relative to the image's root."""
    digest: str  # of the manifest: sha256:...
    name: str  # as the archive calls it; empty if it does not
    config: dict
    manifest: dict
    files: dict  # path: ImageFile
    texts: dict  # path: str
    layers_of_texts: dict  # path: number of the layer

    def label(self, name):
        return (self.config.get("config", {}).get("Labels") or {}).get(f"org.opencontainers.image.{name}", "")


def read_image(path):
    """Returns the Image in the OCI archive `path`. Raises AttestError if it is not one, or has several images."""
    try:
        with tarfile.open(path) as archive:
            return _read(archive, path)
    except (OSError, EOFError, zlib.error, tarfile.TarError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise AttestError(f"{path}: expected an OCI archive with index.json and blobs (images/build --archive, or docker "
                          f"save of Docker 25 or newer): {error}") from error


def _read(archive, path):
    descriptor = _only_image(archive, json.load(archive.extractfile("index.json")), path)
    manifest = json.loads(_blob(archive, descriptor["digest"]))
    config = json.loads(_blob(archive, manifest["config"]["digest"]))
    annotations = descriptor.get("annotations", {})
    name = annotations.get("io.containerd.image.name") or annotations.get("org.opencontainers.image.ref.name", "")
    image = Image(descriptor["digest"], name, config, manifest, {}, {}, {})
    for number, layer in enumerate(manifest["layers"]):
        _add_layer(archive, layer, number, image)
    return image


def _only_image(archive, index, path):
    """The descriptor of the archive's only image manifest; manifests of attestations have the platform `unknown`."""
    found = []
    for descriptor in index["manifests"]:
        if descriptor.get("mediaType") in INDEXES:
            found.append(_only_image(archive, json.loads(_blob(archive, descriptor["digest"])), path)
                         | {"annotations": descriptor.get("annotations", {})})
        elif descriptor.get("mediaType") in MANIFESTS and descriptor.get("platform", {}).get("os") != "unknown":
            found.append(descriptor)
    if len(found) != 1:
        raise AttestError(f"{path}: has {len(found)} images, expected 1: save one image of one platform")
    return found[0]


def _blob_file(archive, digest):
    algorithm, _, value = digest.partition(":")
    if algorithm != "sha256":
        raise ValueError(f"blob {digest}: expected a SHA-256 digest")
    file = archive.extractfile(f"blobs/sha256/{value}")
    found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != value:
        raise ValueError(f"blob {digest} has the digest sha256:{found}: the archive is damaged")
    file.seek(0)
    return file


def _blob(archive, digest):
    return _blob_file(archive, digest).read()


def _add_layer(archive, descriptor, number, image):
    kind = LAYER.search(descriptor["mediaType"])
    if kind is None:
        raise ValueError(f"layer {number} has the media type {descriptor['mediaType']}: expected tar or tar with gzip")
    with tarfile.open(fileobj=_blob_file(archive, descriptor["digest"]), mode="r|gz" if kind.group(1) else "r|") as layer:
        for member in layer:
            _add_member(layer, member, number, image)


def _add_member(layer, member, number, image):
    path = _relative(member.name)
    folder, name = posixpath.split(path)
    if name == ".wh..wh..opq":
        _delete(image, lambda known, at: known.startswith(folder + "/") and at < number)
    elif name.startswith(".wh."):
        deleted = posixpath.join(folder, name.removeprefix(".wh."))
        _delete(image, lambda known, at: known == deleted or known.startswith(deleted + "/"))
    elif not member.isdir():
        image.files.pop(path, None)
        image.texts.pop(path, None)
        image.layers_of_texts.pop(path, None)
        if member.islnk():
            _add_hard_link(_relative(member.linkname), path, number, image)
        elif member.isfile():
            _add_file(layer.extractfile(member), path, number, image)


def _relative(name):
    return posixpath.normpath(name).lstrip("/")


def _delete(image, is_deleted):
    for path in [path for path, file in image.files.items() if is_deleted(path, file.layer)]:
        del image.files[path]
    for path in [path for path, layer in image.layers_of_texts.items() if is_deleted(path, layer)]:
        del image.texts[path], image.layers_of_texts[path]


def _add_hard_link(target, path, number, image):
    if target in image.files:
        image.files[path] = dataclasses.replace(image.files[target], layer=number)
    if target in image.texts and TEXTS.fullmatch(path):
        image.texts[path], image.layers_of_texts[path] = image.texts[target], number


def _add_file(file, path, number, image):
    head = file.read(4)
    is_ours = OURS.fullmatch(path) is not None
    if TEXTS.fullmatch(path):
        image.texts[path] = (head + file.read()).decode("utf-8", "replace")
        image.layers_of_texts[path] = number
    elif is_ours or head == b"\x7fELF":
        sha1, sha256 = hashlib.sha1(head), hashlib.sha256(head)
        while piece := file.read(1 << 20):
            sha1.update(piece)
            sha256.update(piece)
        image.files[path] = ImageFile(number, sha1.hexdigest(), sha256.hexdigest(), is_ours)
