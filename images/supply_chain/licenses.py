"""SPDX license expressions from Debian's copyright files and from metadata of wheels.

Debian's machine-readable copyright files (DEP-5) name a license for each group of files. Known names become SPDX
identifiers, joined by AND over the groups; any other name becomes a LicenseRef with its text. For a file that is not
machine-readable the result is None: the document then has NOASSERTION and the path of the text in the image.
"""

import email
import re

# Debian's short names and common spellings, in lower case, without ".0" in versions of GNU licenses.
KNOWN = {
    "apache-2.0": "Apache-2.0", "apache 2.0": "Apache-2.0", "apache license 2.0": "Apache-2.0",
    "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause", "bsd-4-clause": "BSD-4-Clause",
    "bsl-1.0": "BSL-1.0", "cc0-1.0": "CC0-1.0", "curl": "curl", "expat": "MIT", "mit": "MIT", "mit license": "MIT",
    "isc": "ISC", "mpl-2.0": "MPL-2.0", "openldap-2.8": "OLDAP-2.8", "x11": "X11", "zlib": "Zlib", "unlicense": "Unlicense",
    "psf-2.0": "PSF-2.0", "fsfullr": "FSFULLR", "fsfap": "FSFAP", "ftl": "FTL", "openssl": "OpenSSL",
    "0bsd": "0BSD", "ms-pl": "MS-PL", "oldap-2.8": "OLDAP-2.8", "bsd-4-clause-uc": "BSD-4-Clause-UC"}
GNU = re.compile(r"(l?gpl)-?v?([123](?:\.1)?)(?:\.0)?(\+?)")
CLASSIFIERS = {"MIT License": "MIT", "Apache Software License": "Apache-2.0", "ISC License (ISCL)": "ISC",
               "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0"}


def spdx_identifier(name):
    """Returns the SPDX identifier of one license name, or None if it is not known."""
    name = " ".join(name.split()).lower()
    if match := GNU.fullmatch(name):
        family, version, later = match.groups()
        version = version if "." in version else version + ".0"
        return f"{family.upper()}-{version}-{'or-later' if later else 'only'}"
    return KNOWN.get(name)


def debian_license(copyright_text, package):
    """Returns (expression, {LicenseRef: text}) of a DEP-5 copyright file, or (None, {}) if it is not one."""
    paragraphs = _paragraphs(copyright_text)
    if not paragraphs or "format" not in paragraphs[0]:
        return None, {}
    bodies = {}
    for paragraph in paragraphs:
        synopsis, _, body = paragraph.get("license", "").partition("\n")
        if body.strip():
            bodies.setdefault(synopsis.strip(), body.strip())
    names = {paragraph["license"].partition("\n")[0].strip() for paragraph in paragraphs
             if "files" in paragraph and paragraph["files"].split() != ["debian/*"] and paragraph.get("license")}
    parts, references = set(), {}
    for name in sorted(names - {""}):
        expression = _expression(name)
        if expression is None:
            expression = _reference(f"{package}-{name}", references)
            references[expression] = bodies.get(name, f"{name}: see /usr/share/doc/{package}/copyright")
        parts.add(expression)
    return (" AND ".join(sorted(parts)) or None), references


def _reference(name, taken):
    """A LicenseRef for a name, with a number where two names differ only in characters that SPDX does not allow."""
    base = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-")[:120]
    found, number = base, 1
    while found in taken:
        number += 1
        found = f"{base}-{number}"
    return found


def _paragraphs(text):
    """DEP-5 paragraphs as {field in lower case: value}; continuation lines keep their line breaks."""
    found = []
    for block in re.split(r"\n[ \t]*\n", text.strip()):
        fields, name = {}, None
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            if match := re.match(r"([A-Za-z][A-Za-z-]*):\s*(.*)", line):
                name = match.group(1).lower()
                fields[name] = match.group(2)
            elif name and line[:1] in " \t":
                fields[name] += "\n" + line.strip()
        found.append(fields)
    return found


def _expression(name):
    """A name such as `GPL-2+ or Expat`; None if a part is not known, or if `and` and `or` are mixed."""
    words = re.split(r",?\s+(and|or)\s+", name)
    licenses, operators = [spdx_identifier(word) for word in words[::2]], set(words[1::2])
    if None in licenses or len(operators) > 1:
        return None
    if not operators:
        return licenses[0]
    return "(" + f" {operators.pop().upper()} ".join(licenses) + ")"


def wheel_license(metadata):
    """Returns (SPDX expression or None, the license as METADATA states it) from the text of METADATA."""
    fields = email.message_from_string(metadata)
    if expression := fields.get("License-Expression"):
        return expression.strip(), expression.strip()
    said = " ".join((fields.get("License") or "").split())
    if identifier := spdx_identifier(said):
        return identifier, said
    approved = [name.rpartition(" :: ")[2] for name in fields.get_all("Classifier") or [] if name.startswith("License ::")]
    if len(approved) == 1 and approved[0] in CLASSIFIERS:
        return CLASSIFIERS[approved[0]], approved[0]
    return None, (said[:200] or ", ".join(approved))
