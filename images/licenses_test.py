"""Licenses of Debian's copyright files and of wheels as SPDX expressions."""

import unittest

from supply_chain.licenses import debian_license, spdx_identifier, wheel_license

HEAD = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: x\n\n"


def files(pattern, license_name, text=""):
    return f"Files: {pattern}\nCopyright: 2020 x\nLicense: {license_name}\n{text}\n"


class DebianLicenseTest(unittest.TestCase):
    def test_names_are_mapped(self):
        for name, expected in (("GPL-2+", "GPL-2.0-or-later"), ("GPL-2", "GPL-2.0-only"), ("LGPL-2.1+", "LGPL-2.1-or-later"),
                               ("LGPLv3+", "LGPL-3.0-or-later"), ("GPL-2.0+", "GPL-2.0-or-later"), ("Expat", "MIT"),
                               ("BSD-3-clause", "BSD-3-Clause"), ("Custom", None), ("GPL", None)):
            self.assertEqual(spdx_identifier(name), expected, name)

    def test_groups_of_files_are_joined_by_and(self):
        text = HEAD + files("*", "Apache-2.0") + "\n" + files("a/*", "Expat") + "\n" + files("b/*", "Expat")
        self.assertEqual(debian_license(text, "x"), ("Apache-2.0 AND MIT", {}))

    def test_the_packaging_files_are_ignored(self):
        self.assertEqual(debian_license(HEAD + files("*", "Expat") + "\n" + files("debian/*", "GPL-3"), "x"), ("MIT", {}))

    def test_choices_are_kept_and_mixed_expressions_are_not_split(self):
        self.assertEqual(debian_license(HEAD + files("*", "GPL-2+ or Expat"), "x")[0], "(GPL-2.0-or-later OR MIT)")
        self.assertEqual(debian_license(HEAD + files("*", "GPL-2+ or Expat and ISC"), "x")[0],
                         "LicenseRef-x-GPL-2-or-Expat-and-ISC")

    def test_another_name_refers_to_its_text(self):
        text = HEAD + files("*", "Odd") + "\nLicense: Odd\n First line.\n .\n Last line.\n"
        self.assertEqual(debian_license(text, "x"), ("LicenseRef-x-Odd", {"LicenseRef-x-Odd": "First line.\n.\nLast line."}))
        self.assertEqual(debian_license(HEAD + files("*", "Odd"), "x")[1],
                         {"LicenseRef-x-Odd": "Odd: see /usr/share/doc/x/copyright"})

    def test_names_that_differ_in_other_characters_stay_distinct(self):
        text = HEAD + files("*", "Odd/1", " one") + "\n" + files("a", "Odd_1", " two")
        self.assertEqual(debian_license(text, "x"), ("LicenseRef-x-Odd-1 AND LicenseRef-x-Odd-1-2",
                                                     {"LicenseRef-x-Odd-1": "one", "LicenseRef-x-Odd-1-2": "two"}))

    def test_a_file_in_prose_has_no_expression(self):
        self.assertEqual(debian_license("This package was made by hand.\n\nLicense: see above\n", "x"), (None, {}))
        self.assertEqual(debian_license("", "x"), (None, {}))


class WheelLicenseTest(unittest.TestCase):
    def test_an_expression_is_taken_as_it_is(self):
        self.assertEqual(wheel_license("Name: x\nLicense-Expression: MIT OR Apache-2.0\nLicense: other\n"),
                         ("MIT OR Apache-2.0", "MIT OR Apache-2.0"))

    def test_a_known_name_or_the_only_classifier_is_mapped(self):
        self.assertEqual(wheel_license("Name: x\nLicense: Apache 2.0\n"), ("Apache-2.0", "Apache 2.0"))
        self.assertEqual(wheel_license("Name: x\nClassifier: License :: OSI Approved :: MIT License\n"), ("MIT", "MIT License"))

    def test_unknown_names_are_quoted(self):
        self.assertEqual(wheel_license("Name: x\nLicense: Proprietary Software\n"), (None, "Proprietary Software"))
        self.assertEqual(wheel_license("Name: x\nClassifier: License :: OSI Approved :: BSD License\n"), (None, "BSD License"))
        self.assertEqual(wheel_license("Name: x\n"), (None, ""))


if __name__ == "__main__":
    unittest.main()
