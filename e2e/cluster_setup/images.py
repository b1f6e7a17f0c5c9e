"""The images that nodes run: Espalier's from build/release/bin, and the pause image, as OCI archives in a cache.

The tag is a digest of the inputs of the images, so that a node never runs the images of an earlier build."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import tempfile

from cluster_setup.node import PAUSE_IMAGE
from cluster_setup.processes import run
from cluster_setup.state import CACHE, SOURCE, SetupError

BASE_IMAGE = "localhost/debian:bookworm-slim"
PREFIX = "localhost/espalier"
PROGRAMS = SOURCE / "build/release/bin"
NEEDED = ["espalier", "espalier-operator", "espalier-partitioner", "espalier-graph-server", "espalier-sampler",
          "espalier-trainer", "espalier-trainer-process", "espalier_example_training_loop",
          "espalier_example_link_embeddings", "espalier_example_ask_degrees", "espalier_example_degrees.so",
          "espalier_example_rows.so", "espalier_example_averages.so"]
MODULE = SOURCE / "build/release/python/espalier/_core.abi3.so"  # of the Python package
NAMES = ["core", "trainer", "python"]
KEPT_BUILDS = 2
# Without a daemon and without user namespaces, as root.
BUILDAH = {**os.environ, "STORAGE_DRIVER": "overlay", "BUILDAH_ISOLATION": "chroot"}
BUILD_SECONDS = 900
ARCHIVES = CACHE / "e2e-images"


def ensure(say):
    """Builds the missing images and returns (tag, archives)."""
    missing = [name for name in NEEDED if not (PROGRAMS / name).exists()]
    if missing:
        raise SetupError(f"{PROGRAMS} lacks {', '.join(missing)}: cmake --preset release && "
                         "cmake --build --preset release --target espalier-binaries makes them")
    if not MODULE.exists():
        raise SetupError(f"there is no {MODULE}, of the image espalier-python: cmake --preset release "
                         "-DESPALIER_PYTHON_MODULE=ON and the target espalier-python-package make it (docs/python.md)")
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    tag = _digest()
    with _lock(ARCHIVES / "lock"):
        pause = ARCHIVES / "pause/pause.tar"
        if not pause.exists():
            pause.parent.mkdir(exist_ok=True)
            _build_pause(pause)
        made = folder(tag)
        if not made.is_dir():
            _ensure_base(say)
            say("building images (about three minutes)")
            with _staging(ARCHIVES) as staging:
                _build(NAMES, tag, staging / "archives")
                (staging / "archives").rename(made)
        made.touch()
        _forget_old_builds()
        return tag, [pause, *(made / f"espalier-{name}.tar" for name in NAMES)]


def folder(tag):
    """Returns the folder of a build's archives."""
    return ARCHIVES / tag


def ensure_more(name, tag):
    """Builds an image that nodes do not have at the start, unless its archive exists; returns the archive."""
    archive = folder(tag) / f"espalier-{name}.tar"
    with _lock(ARCHIVES / "lock"):
        if not archive.exists():
            with _staging(ARCHIVES) as staging:
                _build([name], tag, staging)
                (staging / archive.name).rename(archive)
    return archive


def _build(names, tag, archives):
    run([SOURCE / "images/build", "--tool", "buildah", "--binaries", "given", "--base", BASE_IMAGE, "--prefix", PREFIX,
         "--tag", tag, "--archive", archives, *names], timeout=BUILD_SECONDS, env=BUILDAH)
    for name in names:  # only the archive is kept
        run(["buildah", "rmi", f"{PREFIX}-{name}:{tag}"], env=BUILDAH)


def _digest():
    digest = hashlib.sha256()
    # Other files in the folders, such as __pycache__, are not in the images.
    of_images = sorted(path for path in (SOURCE / "images").iterdir() if path.is_file())
    of_package = sorted(path for path in (SOURCE / "python/espalier").rglob("*")
                        if path.suffix in (".py", ".pyi", ".typed"))
    for path in [*(PROGRAMS / name for name in NEEDED), MODULE, *of_package, *of_images, SOURCE / "LICENSE",
                 SOURCE / "services/cmake/torch-wheels.txt", SOURCE / "python/tests/pinned/requirements.txt"]:
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return "e2e-" + digest.hexdigest()[:12]


@contextlib.contextmanager
def _lock(path):
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _staging(parent=None):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="build-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _has_image(reference):
    return reference in run(["buildah", "images", "--format", "{{.Name}}:{{.Tag}}"], env=BUILDAH).split()


def _ensure_base(say):
    if _has_image(BASE_IMAGE):
        return
    say("making the base image (debootstrap, about half a minute)")
    with _staging() as staging:
        run(["debootstrap", "--variant=minbase", "bookworm", staging / "root"], timeout=600)
        # The base of the images needs the same security updates as the machine that compiled the programs.
        (staging / "root/etc/apt/sources.list").write_text(
            "deb http://deb.debian.org/debian bookworm main\n"
            "deb http://deb.debian.org/debian bookworm-updates main\n"
            "deb http://deb.debian.org/debian-security bookworm-security main\n")
        shutil.rmtree(staging / "root/var/cache/apt/archives", ignore_errors=True)
        run(["tar", "-C", staging / "root", "--one-file-system", "-cf", staging / "root.tar", "."], timeout=120)
        shutil.rmtree(staging / "root")
        (staging / "Dockerfile").write_text("FROM scratch\nADD root.tar /\n")
        run(["buildah", "bud", "--tag", BASE_IMAGE, staging], timeout=300, env=BUILDAH)


def _build_pause(archive):
    with _staging(archive.parent) as staging:
        run(["cc", "-Os", "-static", "-o", staging / "pause", pathlib.Path(__file__).with_name("pause.c")])
        (staging / "Dockerfile").write_text('FROM scratch\nCOPY pause /pause\nUSER 65535:65535\n'
                                            'ENTRYPOINT ["/pause"]\n')
        run(["buildah", "bud", "--tag", PAUSE_IMAGE, staging], timeout=120, env=BUILDAH)
        run(["buildah", "push", PAUSE_IMAGE, f"oci-archive:{staging}/pause.tar:{PAUSE_IMAGE}"], env=BUILDAH)
        (staging / "pause.tar").rename(archive)


def _forget_old_builds():
    builds = sorted(ARCHIVES.glob("e2e-*"), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in builds[KEPT_BUILDS:]:
        shutil.rmtree(folder)
