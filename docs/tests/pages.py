"""Pages as text, and parts of them that are made from the programs."""

import os
import pathlib

SOURCE = pathlib.Path(os.environ["ESPALIER_SOURCE"])
DOCS = SOURCE / "docs"


def check_page(test, path, wanted):
    """The page is `wanted`; where ESPALIER_UPDATE_DOCS is set it becomes it."""
    if os.environ.get("ESPALIER_UPDATE_DOCS"):
        path.write_text(wanted)
        return
    advice = f"run this test with ESPALIER_UPDATE_DOCS=1 and commit {path.relative_to(SOURCE)}"
    test.assertMultiLineEqual(path.read_text(), wanted, advice)


def with_section(text, name, section):
    """`text` with what stands between the marker lines of `name` replaced."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"no section between {begin.strip()} and {end.strip()}")
    return before + begin + section + end + after
