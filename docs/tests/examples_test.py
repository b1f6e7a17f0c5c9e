"""Programs and documents that pages show are those that tests compile, run or validate. Below a line <!-- from: FILE -->
a `cpp` or `python` block is what stands between the two lines `// [example]` or `# [example]` of that file, and a `yaml`
block is the whole file, one of crds/examples, which operator/schema/documents_test.cc validates."""

import re
import unittest

from pages import DOCS, SOURCE

BLOCK = re.compile(r"^<!-- from: (\S+) -->\n```(?:cpp|python)\b[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENT = re.compile(r"^<!-- from: (crds/examples/\S+) -->\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^(//|#) \[example\]\n(.*?)^\1 \[example\]$", re.MULTILINE | re.DOTALL)


class ExamplesTest(unittest.TestCase):
    maxDiff = None

    def test_pages_show_what_is_compiled_or_run(self):
        pages = [SOURCE / "README.md", *DOCS.rglob("*.md")]
        shown = [(page, block) for page in pages for block in BLOCK.findall(page.read_text())]
        self.assertGreater(len(shown), 0)
        for page, (source, block) in shown:
            with self.subTest(page=str(page), source=source):
                found = EXAMPLE.search((SOURCE / source).read_text())
                self.assertIsNotNone(found, f"{source} has no example")
                self.assertMultiLineEqual(block, found.group(2))

    def test_pages_show_documents_that_are_valid(self):
        shown = [(page, block) for page in DOCS.rglob("*.md") for block in DOCUMENT.findall(page.read_text())]
        self.assertGreater(len(shown), 0)
        for page, (source, block) in shown:
            with self.subTest(page=str(page), source=source):
                self.assertMultiLineEqual(block, (SOURCE / source).read_text())


if __name__ == "__main__":
    unittest.main()
