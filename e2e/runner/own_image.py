"""Builds an image of a user as docs/programs.md describes: the trainer image with an additional program."""

import os
import pathlib
import re
import shutil
import tempfile

from cluster_setup import images
from runner.commands import Failure, attempt, run
from runner.here import SOURCE

PAGE, HEADING = "docs/programs.md", "### An image of your own"
PROGRAM = "my-program"  # its name on the page, in /usr/bin of the image
# Source and destination of COPY in the page's Dockerfile.
COMPILED, TRAINER_IMAGE = "mine/build", "espalier-trainer:0.1.0"


def last_stage():
    """Returns the part of the page's Dockerfile after the compilation."""
    part = (SOURCE / PAGE).read_text().partition(f"\n{HEADING}\n")[2]
    found = re.search(r"^```dockerfile\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    stages = re.split(r"^(?=FROM )", found.group(1), flags=re.MULTILINE) if found else []
    if len(stages) != 3 or TRAINER_IMAGE not in stages[-1]:
        raise Failure(f"{PAGE} has no Dockerfile of two stages below {HEADING}, the last of them from {TRAINER_IMAGE}")
    return stages[-1]


def make(program, reference, machines):
    """Builds it of the trainer image under test and of a program that is compiled already, and puts it on the nodes of a
    cluster of e2e/cluster."""
    trainer = images.folder(os.environ["ESPALIER_E2E_TAG"]) / "espalier-trainer.tar"
    if not trainer.exists():
        raise Failure(f"{trainer} was removed, because only two builds are kept: run e2e/cluster up")
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-image-") as temporary:
        folder = pathlib.Path(temporary)
        (folder / COMPILED).mkdir(parents=True)
        shutil.copy(program, folder / COMPILED / PROGRAM)
        (folder / "Dockerfile").write_text(last_stage().replace(TRAINER_IMAGE, f"oci-archive:{trainer}"))
        archive = folder / "mine.tar"
        buildah = ["buildah", "--root", folder / "images", "--runroot", folder / "mounts"]  # separate from other images
        try:
            run([*buildah, "bud", "--build-context", f"build={folder}", "--tag", reference, folder], timeout=300,
                env=images.BUILDAH)
            run([*buildah, "push", reference, f"oci-archive:{archive}:{reference}"], timeout=300, env=images.BUILDAH)
        finally:
            attempt([*buildah, "rmi", "--all", "--force"], env=images.BUILDAH)  # keep the first error
        machines.load_image(archive)
