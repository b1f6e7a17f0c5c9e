"""The images contain the license of each library that the programs load or that is compiled into them."""

import os
import pathlib
import re
import subprocess
import unittest

from cluster_setup.images import NEEDED
from cluster_setup.state import SOURCE

BIN = pathlib.Path(os.environ["ESPALIER_BIN"])
COMPILED_IN = SOURCE / "images/compiled-in.txt"
# Development packages of which no file is in the images: the first four are for tests. python3-dev has the headers for the
# Python package; images with Python get its licence with Python itself (images/packages-python.txt).
NOT_SHIPPED = {"libbenchmark-dev", "libgmock-dev", "libgtest-dev", "libclang-rt-14-dev", "python3-dev"}


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout


def lines_of(path):
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def query(package, field):
    return output_of("dpkg-query", "-W", "-f", f"${{{field}}}", package)


def source_of(package):
    return query(package, "source:Package")


def loaded_libraries():
    """Returns the files that the shipped programs load."""
    return {os.path.realpath(library) for name in NEEDED
            for library in re.findall(r"=> (/\S+) ", output_of("ldd", str(BIN / name)))}


def loaded_sources():
    """Returns the source packages of the libraries that the shipped programs load."""
    libraries = set()
    for path in loaded_libraries():
        libraries |= {path, path.removeprefix("/usr"), "/usr" + path.removeprefix("/usr")}
    # dpkg finds a file by its path in the package, and reports unknown paths on standard error.
    packages = {line.split(":")[0] for line in output_of("dpkg", "-S", *sorted(libraries)).splitlines()}
    return {source_of(package) for package in packages}


def with_headers(package):
    """Returns the package if it has headers, otherwise the development packages on which it depends."""
    if re.search(r"\.h(pp)?$", output_of("dpkg", "-L", package), re.MULTILINE):
        return {package}
    below = re.findall(r"(?:^|, )([a-z0-9.+-]+)", query(package, "Depends"))
    return set().union(*(with_headers(name) for name in below if name.endswith("-dev")))


class LicencesTest(unittest.TestCase):
    def test_build_inputs_are_loaded_or_compiled_in(self):
        wanted = {name for name in lines_of(SOURCE / "services/cmake/debian-packages.txt") if name.endswith("-dev")}
        self.assertLess(NOT_SHIPPED, wanted)
        compiled_in = {line.partition("=")[0] for line in lines_of(COMPILED_IN)}
        loaded = loaded_sources()
        self.assertGreater(len(loaded), 20)
        headers = set().union(*(with_headers(name) for name in wanted - NOT_SHIPPED))
        self.assertGreater(len(headers), 15)
        self.assertEqual({name for name in headers if source_of(name) not in loaded}, compiled_in)

    def test_compiled_in_libraries_are_pinned_and_licensed(self):
        for line in lines_of(COMPILED_IN):
            with self.subTest(line=line):
                self.assertRegex(line, r"^[a-z0-9.+-]+=\S+$")
                self.assertTrue(pathlib.Path("/usr/share/doc", line.partition("=")[0], "copyright").exists())

    @unittest.skipIf(os.environ.get("ESPALIER_TORCH"), "the licences of another torch are not in build/torch")
    def test_loaded_wheels_have_a_licence(self):
        torch = SOURCE / "build/torch"
        loaded = {str(pathlib.Path(path).relative_to(torch).parent) for path in loaded_libraries()
                  if pathlib.Path(path).is_relative_to(torch)}
        self.assertEqual(loaded, {"torch/lib", "nvidia/cu13/lib"})
        # oneMKL is a part of torch's library.
        for wheel in ("torch", "mkl_include", "nvidia_cuda_runtime", "nvidia_cuda_cupti"):
            licences = [path.name for path in torch.glob(f"{wheel}-*.dist-info/**/*")
                        if re.match("LICENSE|License", path.name) and path.stat().st_size > 1000]
            self.assertTrue(licences, wheel)


if __name__ == "__main__":
    unittest.main()
