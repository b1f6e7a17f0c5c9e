"""Links between the repository's pages and notebooks lead somewhere: to a file that exists and a heading that it has."""

import json
import re
import subprocess
import unittest

from pages import SOURCE

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", flags=re.MULTILINE | re.DOTALL)


def pages():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md",
                             "*.ipynb"], cwd=SOURCE, capture_output=True, text=True)
    if listed.returncode == 0:
        return [SOURCE / name for name in listed.stdout.splitlines() if (SOURCE / name).is_file()]
    return [path for pattern in ("*.md", "*.ipynb") for path in SOURCE.rglob(pattern)
            if "build" not in path.relative_to(SOURCE).parts]


def text_of(path):
    """The text of a page, or of a notebook's cells of text."""
    text = path.read_text()
    if path.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    return text


def anchors(path):
    """As GitHub makes them from headings, and those that are written out."""
    names, seen = set(re.findall(r'<a (?:id|name)="([^"]+)"', path.read_text())), {}
    for heading in re.findall(r"^#+ +(.+?) *$", FENCE.sub("", path.read_text()), flags=re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        names.add(name if seen[name] == 0 else f"{name}-{seen[name]}")
    return names


def broken_links(path):
    for link in LINK.findall(FENCE.sub("", text_of(path))):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists():
            yield f"{path.relative_to(SOURCE)}: {link}: there is no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{path.relative_to(SOURCE)}: {link}: the page has no such heading"


class LinksTest(unittest.TestCase):
    def test_links_lead_to_files_and_headings_that_exist(self):
        found = pages()
        self.assertGreater(len(found), 30)
        self.assertEqual([broken for path in found for broken in broken_links(path)], [])


if __name__ == "__main__":
    unittest.main()
