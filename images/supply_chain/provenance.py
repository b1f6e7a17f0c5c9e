"""SLSA v1 provenance as in-toto statements: from which revision, base and wheels something was built, how and when.

The facts of an image come from the record that `images/build --archive` writes beside the archive, not from the caller;
a statement about changed sources is refused, because its revision would be wrong. The caller gives only the two facts that a
build cannot determine: the address of the sources and the identity of the builder.
"""

import re

from supply_chain.errors import AttestError

STATEMENT = "https://in-toto.io/Statement/v1"
SLSA = "https://slsa.dev/provenance/v1"
SPDX = "https://spdx.dev/Document"
# Names of the kinds of build, described in docs/operations/supply-chain.md. They are tag URIs, which need no server.
IMAGE_BUILD = "tag:espalier.io,2026:images-build/v1"
CHART_BUILD = "tag:espalier.io,2026:helm-package/v1"
REVISION = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
RECORD = ("image", "reference", "base", "base-digest", "binaries", "tag", "tool", "revision", "changed", "started", "finished")


def read_record(text):
    """Returns the fields of a build record, NAME=VALUE a line, as images/build writes them."""
    fields = dict(line.partition("=")[::2] for line in text.splitlines())
    if missing := [name for name in RECORD if name not in fields]:
        raise AttestError(f"the build record lacks {missing[0]}: expected the file that images/build --archive writes")
    if fields["changed"] != "no":
        raise AttestError(f"the image was built from sources that differ from revision {fields['revision']}: commit or "
                          "remove the changes and build again")
    return fields


def statement(name, digest, predicate_type, predicate):
    """An in-toto statement about one artifact. `digest`: sha256:HEX."""
    return {"_type": STATEMENT, "subject": [{"name": name, "digest": {"sha256": digest.removeprefix("sha256:")}}],
            "predicateType": predicate_type, "predicate": predicate}


def subjects_of(value, path):
    """Returns the SHA-256 digests of the artifacts that the statement `value` is about. Raises AttestError if `value`, which
    was read from `path`, is not a statement about at least one."""
    try:
        if value["_type"] == STATEMENT and (found := [subject["digest"]["sha256"] for subject in value["subject"]]):
            return found
    except (KeyError, TypeError):
        pass
    raise AttestError(f"{path}: expected an in-toto statement ({STATEMENT}) with the SHA-256 digests of its subjects")


def image_provenance(image, record, pins, source, builder, digest=None):
    """The statement about an image. `digest`: that of the image in a registry, if it differs from the archive's."""
    recorded = {"title": f"espalier-{record['image']}", "version": record["tag"], "revision": record["revision"]}
    for label, value in recorded.items():
        if image.label(label) != value:
            raise AttestError(f"the image has {label} {image.label(label)}, its build record {value}: expected the record "
                              "that was written beside this archive")
    base = {"uri": f"docker:{record['base']}", "name": "base"}
    if re.fullmatch(r"sha256:[0-9a-f]{64}", record["base-digest"]):
        base["digest"] = {"sha256": record["base-digest"].removeprefix("sha256:")}
    dependencies = [_source(source, record["revision"]), base, *_wheels(image, pins)]
    definition = {
        "buildType": IMAGE_BUILD,
        "externalParameters": {name: record[name] for name in ("image", "architecture", "base", "binaries", "tag")
                               if name in record},
        "internalParameters": {"tool": record["tool"]}, "resolvedDependencies": dependencies}
    return statement(record["reference"], digest or image.digest, SLSA, {
        "buildDefinition": definition,
        "runDetails": {"builder": {"id": builder},
                       "metadata": {"startedOn": record["started"], "finishedOn": record["finished"]}}})


def chart_provenance(chart, revision, source, builder, digest=None):
    """The statement about a chart that chart.check_against_revision has compared with `revision`. `digest`: that of the chart
    in a registry; without it, the statement is about the archive."""
    definition = {
        "buildType": CHART_BUILD, "externalParameters": {"chart": "helm/espalier"}, "internalParameters": {},
        "resolvedDependencies": [_source(source, revision)]}
    return statement(f"{chart.name}-{chart.version}.tgz", digest or chart.sha256, SLSA,
                     {"buildDefinition": definition, "runDetails": {"builder": {"id": builder}}})


def _source(source, revision):
    if not REVISION.fullmatch(revision):
        raise AttestError(f"revision {revision}: expected a full commit id")
    return {"uri": f"git+{source}@{revision}", "digest": {"gitCommit": revision}, "name": "source"}


def _wheels(image, pins):
    """Wheels in the image whose hashes are pinned."""
    listed = re.findall(r"^([^=\n]+)=(\S+) \(wheel\)$", image.texts["usr/share/doc/espalier/packages.txt"], re.MULTILINE)
    for name, version in listed:
        name = re.sub(r"[-_.]+", "-", name).lower()
        if sha256 := pins.get((name, version)):
            yield {"uri": f"pkg:pypi/{name}@{version}", "digest": {"sha256": sha256}}
