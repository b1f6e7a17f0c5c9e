"""The packages in an image: Debian's packages of the base, and the packages that collect.sh has added.

collect.sh lists the packages that it collects in packages.txt as `name=version`, followed by `(wheel)` or `(compiled in)`, and
the Debian package of each copied file in files.txt. dpkg's status in the image lists the packages of the base. If collect.sh
has copied files of a newer version over those of the base, the package occurs with both versions, because only the files that
programs load were replaced.
"""

import dataclasses
import pathlib
import re

from supply_chain.errors import AttestError
from supply_chain.licenses import debian_license, wheel_license
from supply_chain.oci_archive import PACKAGES

FILES = "usr/share/doc/espalier/files.txt"
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
WHEEL_PINS = ("services/cmake/torch-wheels.txt", "python/tests/pinned/requirements.txt", "images/cuda.txt")
ORIGINS = {"": "collected", " (wheel)": "wheel", " (compiled in)": "compiled in"}


@dataclasses.dataclass
class Package:
    origin: str  # "base", "collected", "wheel", "compiled in"
    name: str
    version: str
    architecture: str = ""
    license: str | None = None
    license_comment: str = ""
    sha256: str = ""  # of the wheel, as pinned
    files: list = dataclasses.field(default_factory=list)  # paths of Image.files


def wheel_pins(folder=REPOSITORY):
    """Returns {(normalized name, version): SHA-256} of the wheels that images are built from."""
    pins = {}
    for name in WHEEL_PINS:
        for line in (folder / name).read_text().splitlines():
            if match := re.fullmatch(r"([A-Za-z0-9._-]+)==(\S+) --hash=sha256:([0-9a-f]{64})", line):
                pins[normalized(match[1]), match[2]] = match[3]
    return pins


def normalized(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def packages_of(image, pins):
    """Returns (packages, {LicenseRef: text}, unowned paths of Image.files outside the base and not ours)."""
    if PACKAGES not in image.texts:
        raise AttestError(f"the image has no /{PACKAGES}: expected an image that images/build has made")
    packages, references = [], {}
    for package in _base(image):
        _read_debian_license(image, package, references)
        packages.append(package)
    for line in image.texts[PACKAGES].splitlines():
        match = re.fullmatch(r"([^=]+)=(\S+)( \(wheel\)| \(compiled in\))?", line)
        if match is None:
            raise AttestError(f"/{PACKAGES}: unexpected line {line!r}")
        package = Package(ORIGINS[match[3] or ""], match[1], match[2])
        if package.origin == "wheel":
            _read_wheel(image, package, pins)
        else:
            _read_debian_license(image, package, references)
        packages.append(package)
    return packages, references, _assign_files(image, packages)


def _base(image):
    """Installed packages of dpkg's database, which images without a shell split into one file per package."""
    for path in sorted(image.texts):
        if not path.startswith("var/lib/dpkg/status") or path.endswith(".md5sums"):
            continue
        for paragraph in image.texts[path].split("\n\n"):
            fields = dict(re.findall(r"^([A-Za-z-]+): *(.*)$", paragraph, re.MULTILINE))
            if "Package" in fields and fields.get("Status", "install ok installed").endswith(" installed"):
                yield Package("base", fields["Package"], fields.get("Version", ""), fields.get("Architecture", ""))


def _read_debian_license(image, package, references):
    path = f"usr/share/doc/{package.name}/copyright"
    if path not in image.texts:
        package.license_comment = "The image has no copyright file of this package."
        return
    package.license, texts = debian_license(image.texts[path], package.name)
    references |= texts
    package.license_comment = f"/{path} in the image"


def _read_wheel(image, package, pins):
    package.sha256 = pins.get((normalized(package.name), package.version), "")
    for path in _metadata_paths(image, package, "METADATA"):
        package.license, said = wheel_license(image.texts[path])
        package.license_comment = f"/{path} in the image: {said or 'names no license'}"


def _metadata_paths(image, package, name):
    """Returns the two paths of a wheel's metadata: in the images with Python, and in the trainer's image."""
    packages = f"dist-packages/{package.name}-{package.version}.dist-info/{name}"
    return [path for path in image.texts
            if path.endswith(packages) or path == f"usr/share/doc/{package.name}/{name}"][:1]


def _assign_files(image, packages):
    """Assigns the files of the collected layer to their packages; returns the files without a package."""
    owners = {}
    collected = {package.name: package for package in packages if package.origin == "collected"}
    for line in image.texts.get(FILES, "").splitlines():
        name, _, path = line.partition("\t")
        if name in collected:
            owners[path.lstrip("/")] = collected[name]
    libraries = {}
    for package in packages:
        if package.origin == "wheel":
            for path in _metadata_paths(image, package, "RECORD"):
                folder = path.partition("dist-packages/")[0] + "dist-packages/"
                for row in image.texts[path].splitlines():
                    name = row.rsplit(",", 2)[0].strip('"')
                    owners.setdefault(folder + name, package)
                    libraries.setdefault("usr/lib/espalier/" + name.rpartition("/")[2], package)
    layer, unowned = image.layers_of_texts[PACKAGES], []
    for path, file in sorted(image.files.items()):
        if file.is_ours or file.layer < layer:
            continue
        owner = owners.get(path) or libraries.get(path)
        if owner is None:
            unowned.append(path)
        else:
            owner.files.append(path)
    return unowned
