"""All C++ files of this tree are formatted as .clang-format specifies."""

import os
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(os.environ["ESPALIER_SOURCE"])
CLANG_FORMAT = os.environ["ESPALIER_CLANG_FORMAT"]
FILES_PER_PROCESS = 50


class FormatTest(unittest.TestCase):
    def test_clang_format_changes_nothing(self):
        files = [path for folder in ("services", "operator", "python") for ending in ("*.cc", "*.h")
                 for path in sorted((SOURCE / folder).rglob(ending))]
        self.assertGreater(len(files), 1000)
        pieces = [files[first : first + FILES_PER_PROCESS] for first in range(0, len(files), FILES_PER_PROCESS)]

        def complaints(piece):
            process = subprocess.run([CLANG_FORMAT, "--dry-run", *map(str, piece)], capture_output=True, text=True,
                                     check=True, timeout=300)
            return [line for line in process.stderr.splitlines() if "[-Wclang-format-violations]" in line]

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            found = [line for lines in threads.map(complaints, pieces) for line in lines]
        self.assertEqual(found, [], f"{CLANG_FORMAT} -i fixes them")


if __name__ == "__main__":
    unittest.main()
