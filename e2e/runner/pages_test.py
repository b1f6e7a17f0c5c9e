"""Extraction of commands from pages, and running them as a user would."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

from runner import pages
from runner.commands import Failure

PAGE = """# A page
```sh cluster
first
```
```sh
not of a cluster
```
<!-- file: job.yaml -->
```yaml
place: example
```
## Part
```sh cluster
second \\
  continued
```
### Part of the part
```sh cluster
third
```
"""


class PagesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "page.md").write_text(PAGE)
        patch = mock.patch("runner.pages.here.SOURCE", self.folder)
        self.addCleanup(patch.stop)
        patch.start()

    def test_commands_of_a_page_and_of_its_parts(self):
        second = "second \\\n  continued\n"
        self.assertEqual(pages.commands("page.md"), ["first\n", second, "third\n"])
        self.assertEqual(pages.commands("page.md", "## Part"), [second])
        with self.assertRaisesRegex(Failure, "page.md has no heading ## Par$"):
            pages.commands("page.md", "## Par")

    def test_a_file_of_a_page(self):
        self.assertEqual(pages.file_of("page.md", "job.yaml"), "place: example\n")
        with self.assertRaisesRegex(Failure, "page.md has no file other.yaml"):
            pages.file_of("page.md", "other.yaml")


class ReaderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        with mock.patch("runner.pages.run", return_value=""), \
                mock.patch.dict("os.environ", {"ESPALIER_E2E_CLI": "/nowhere/espalier"}):
            self.reader = pages.Reader(self.folder, "of-a-scenario", {"example": "here"})

    def test_examples_are_replaced_and_commands_run_in_the_folder(self):
        self.reader.write("job.yaml", "place: example\n")
        self.assertEqual(self.reader.do("word=example\necho $word; cat job.yaml; ls -d helm/espalier"),
                         "here\nplace: here\nhelm/espalier\n")

    def test_a_command_that_fails_ends_its_block(self):
        with self.assertRaisesRegex(Failure, "exit status 3"):
            self.reader.do("(exit 3)\ntouch after")
        self.assertFalse((self.folder / "after").exists())

    def test_a_watch_ends_after_the_expected_output(self):
        shown = self.reader.do("mkfifo fifo\nsh -c 'echo Training; echo Succeeded; read forever < fifo'",
                               watch_until="Succeeded")
        self.assertEqual(shown.split(), ["Training", "Succeeded"])

    def test_a_watch_without_the_expected_output_times_out(self):
        os.mkfifo(self.folder / "fifo")
        with self.assertRaisesRegex(Failure, "Succeeded in what `cat fifo` shows: not within 0 s"):
            self.reader.do("cat fifo", seconds=0, watch_until="Succeeded")


if __name__ == "__main__":
    unittest.main()
