"""The files that install-pinned.sh and collect.sh put into an image, for several bases. Both scripts run unchanged, but below a
folder instead of the root, with stubs of apt and dpkg. A package is a line name=version; a library is one file with the name of
its package."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

IMAGES = pathlib.Path(__file__).resolve().parent
LIBRARIES = ("libc6", "libold", "libsame", "libnew")  # that the program loads
PINS = ("libold=2", "libsame=1", "libnew=1")

STUBS = {
    # -W -f FORMAT [PACKAGE]
    "dpkg-query": """grep "^${4:-.*}=" "$ROOT/installed" | while IFS='=' read -r Package Version; do
      printf "$(printf %s "$3" | sed "s/\\${Package}/$Package/; s/\\${Version}/$Version/")"
    done""",
    # -S PATH...; -L PACKAGE, of which all files lie below usr/lib/PACKAGE
    "dpkg": """case "$1" in
      -S) echo "$(basename "$2" .so.1):amd64: $2" ;;
      -L) find "$ROOT/usr/lib/$2" "$ROOT/usr/share/doc/$2" ;;
    esac""",
    "dpkg-deb": 'tar -c -C "$ROOT" ./usr/share/doc/headers/copyright',
    "apt-cache": "echo there",
    "apt-get": """case "$1" in
      download) : >headers_1_all.deb ;;
      install)
        for word in "$@"; do
          case "$word" in
            *=*) sed -i "/^${word%%=*}=/d" "$ROOT/installed"; echo "$word" >>"$ROOT/installed" ;;
          esac
        done ;;
    esac""",
    "python3.11": 'echo "$*" >>"$ROOT/compiled"',
    "ldd": 'for library in "$ROOT"/lib/*; do echo "${library##*/} => $library (0x0)"; done',
}


class CollectTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="espalier-collect-"))
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in STUBS.items():
            self.write(f"stubs/{name}", "#!/bin/sh\n" + text + "\n").chmod(0o755)
        for package in (*LIBRARIES, "ca-certificates", "headers"):
            self.write(f"usr/share/doc/{package}/copyright", package)
        for library in LIBRARIES:
            self.write(f"lib/{library}.so.1", library)
        self.write("etc/ssl/certs/ca-certificates.crt", "authorities")
        self.write("images/LICENSE", "ours")
        self.write("images/compiled-in.txt", "# headers alone\nheaders=1\n")
        self.write("binaries/espalier", "a program")
        (self.root / "tmp").mkdir()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_script(self, name, *args):
        # Not of $rootfs/etc/ssl. What is empty in an image is the folder here; a sysroot, however, would not be asked with ldd.
        text = re.sub(r'(?<=[ ">=])(?=/(images|tmp)/)|\$sysroot(?=/(etc/ssl|usr/share/doc)/)', str(self.root),
                      (IMAGES / name).read_text())
        return subprocess.run(["sh", self.write(f"images/{name}", text), *map(str, args)], timeout=60,
                              capture_output=True, text=True,
                              env={"PATH": f"{self.root}/stubs:/usr/bin:/bin", "ROOT": str(self.root), "INPUTS": str(self.root)})

    def collect(self, *base, pins=PINS, programs=("espalier",)):
        self.write("installed", "".join(line + "\n" for line in ("ca-certificates=1", *base)))
        packages = self.write("images/packages.txt", "\n".join(("# pins", *pins, "")))
        pinned = self.run_script("install-pinned.sh", packages)
        self.assertEqual(pinned.returncode, 0, pinned.stderr)
        return self.run_script("collect.sh", self.root / "rootfs", 1, *programs)

    def libraries(self):
        return sorted(path.name for path in (self.root / "rootfs").rglob("*.so.1"))

    def test_a_library_in_another_version_is_copied(self):
        done = self.collect("libc6=1", "libold=1", "libsame=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.libraries(), ["libnew.so.1", "libold.so.1"])
        self.assertEqual((self.root / "rootfs/usr/share/doc/espalier/packages.txt").read_text().splitlines(),
                         ["ca-certificates=1", "libnew=1", "libold=2", "headers=1 (compiled in)"])
        self.assertEqual((self.root / "rootfs/usr/share/doc/espalier/files.txt").read_text().splitlines(),
                         [f"{name}\t/usr{self.root}/lib/{name}.so.1" for name in ("libnew", "libold")])
        for package in ("libnew", "libold", "headers"):
            self.assertTrue((self.root / f"rootfs/usr/share/doc/{package}/copyright").exists(), package)

    def test_pinned_versions_in_the_base_are_not_copied(self):
        done = self.collect("libc6=1", *PINS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.libraries(), [])

    def test_libraries_of_wheels_come_with_their_licences(self):
        self.write("images/torch/torch/lib/libtorch_cpu.so", "torch")
        self.write("images/torch/nvidia/cu13/lib/libcudart.so.13", "cuda")
        self.write("images/torch/torch-2.11.0.dist-info/licenses/LICENSE", "torch's")
        self.write("images/torch/mkl_include-2024.2.2.dist-info/LICENSE.txt", "oneMKL's")
        done = self.collect("libc6=1", *PINS)
        self.assertEqual(done.returncode, 0, done.stderr)
        rootfs = self.root / "rootfs/usr"
        self.assertEqual(sorted(path.name for path in (rootfs / "lib/espalier").iterdir()),
                         ["libcudart.so.13", "libtorch_cpu.so"])
        self.assertEqual((rootfs / "share/doc/torch/LICENSE").read_text(), "torch's")
        self.assertEqual((rootfs / "share/doc/mkl_include/LICENSE.txt").read_text(), "oneMKL's")
        self.assertEqual((rootfs / "share/doc/espalier/packages.txt").read_text().splitlines()[-2:],
                         ["mkl_include=2024.2.2 (wheel)", "torch=2.11.0 (wheel)"])

    def write_cuda(self):
        """Writes the parts of the image with CUDA: torch's libraries for CPUs, and those of CUDA with a wheel of NVIDIA's."""
        self.write("images/torch/torch/lib/libtorch_cpu.so", "torch")
        self.write("images/torch/torch-2.11.0.dist-info/licenses/LICENSE", "torch's")
        self.write("images/torch-cuda/lib/libtorch_cuda.so", "torch with CUDA")
        self.write("images/torch-cuda/torch-2.11.0.dist-info/METADATA", "a name")
        self.write("images/torch-cuda/torch-2.11.0.dist-info/licenses/LICENSE", "torch's")
        self.write("images/torch-cuda/lib/libcublas.so.13", "cuBLAS")
        return self.write("images/torch-cuda/nvidia_cublas-13.1.0.3.dist-info/licenses/License.txt", "NVIDIA's")

    def test_wheels_of_cuda_come_with_their_licences_and_their_libraries_by_themselves(self):
        self.write_cuda()
        done = self.collect("libc6=1", *PINS)
        self.assertEqual(done.returncode, 0, done.stderr)
        rootfs = self.root / "rootfs/usr"
        self.assertEqual(sorted(path.name for path in (rootfs / "lib/espalier").iterdir()),
                         ["libtorch_cpu.so"])
        self.assertEqual((rootfs / "share/doc/nvidia_cublas/License.txt").read_text(), "NVIDIA's")
        self.assertEqual({path.name for path in (rootfs / "share/doc/torch").iterdir()}, {"LICENSE", "METADATA"})
        self.assertEqual((rootfs / "share/doc/espalier/packages.txt").read_text().splitlines()[-2:],
                         ["nvidia_cublas=13.1.0.3 (wheel)", "torch=2.11.0 (wheel)"])

    def test_of_what_libraries_of_cuda_open_only_the_driver_may_be_missing(self):
        self.write_cuda()
        for missing, status in (("libcuda.so.1", 0), ("libcudnn.so.9", 1)):
            with self.subTest(missing):
                # Found by ldd of a library in the image, not of a program.
                self.write("stubs/ldd", f"""#!/bin/sh
case "$1" in *.so*) echo "\t{missing} => not found" ;; esac
""").chmod(0o755)
                done = self.collect("libc6=1", *PINS)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(done.stderr, "" if status == 0 else "\tlibcudnn.so.9 => not found\nlibraries are missing: the "
                                 "package lists do not match the binaries\n")

    def test_libraries_of_cuda_count_in_the_size_of_the_image(self):
        self.write_cuda()
        self.write("images/torch-cuda/lib/libcublas.so.13", "x" * 2_500_000)
        done = self.collect("libc6=1", *PINS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the image adds 2 MB to its base (at most 1)", done.stdout)

    def test_a_wheel_of_cuda_without_a_licence_is_refused(self):
        self.write_cuda().unlink()
        done = self.collect("libc6=1", *PINS)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "the wheel of nvidia_cublas-13.1.0.3 has no licence in its .dist-info\n")

    def write_python(self):
        """Writes the parts of an image with Python: Debian's Python, the package espalier, and a wheel."""
        self.write("usr/lib/python3.11-minimal/os.py", "a module")
        (self.root / "usr/lib/python3.11-minimal/link").symlink_to("os.py")
        self.write("usr/share/doc/python3.11-minimal/copyright", "Python's")
        self.write("images/packages-python.txt", "# whole\npython3.11-minimal=3.11.2\n")
        self.write("binaries/_core.abi3.so", "an extension module")
        self.write("images/python/espalier/__init__.py", "ours")
        self.write("images/python/numpy/__init__.py", "a wheel's")
        self.write("images/python/numpy-2.3.5.dist-info/METADATA", "a name")
        return self.write("images/python/numpy-2.3.5.dist-info/licenses/LICENSE.txt", "NumPy's")

    def collect_python(self, *base):
        return self.collect("libc6=1", *base, pins=(*PINS, "python3.11-minimal=3.11.2"),
                            programs=("espalier", "_core.abi3.so"))

    def test_python_comes_with_its_packages_and_their_licences(self):
        self.write_python()
        done = self.collect_python()
        self.assertEqual(done.returncode, 0, done.stderr)
        rootfs = self.root / "rootfs"
        packages = rootfs / "usr/local/lib/python3.11/dist-packages"
        self.assertEqual((packages / "numpy/__init__.py").read_text(), "a wheel's")
        self.assertEqual({path.name for path in (packages / "espalier").iterdir()}, {"__init__.py", "_core.abi3.so"})
        [python] = rootfs.rglob("python3.11-minimal/os.py")
        self.assertEqual(python.with_name("link").readlink(), pathlib.Path("os.py"))
        self.assertIn(f"python3.11-minimal\t{self.root}/usr/lib/python3.11-minimal/os.py",
                      (rootfs / "usr/share/doc/espalier/files.txt").read_text().splitlines())
        for name in ("python", "python3"):
            self.assertEqual((rootfs / "usr/bin" / name).readlink().name, "python3.11")
        self.assertEqual((rootfs / "usr/share/doc/numpy/LICENSE.txt").read_text(), "NumPy's")
        self.assertEqual((rootfs / "usr/share/doc/python3.11-minimal/copyright").read_text(), "Python's")
        self.assertEqual((rootfs / "usr/share/doc/espalier/packages.txt").read_text().splitlines()[-3:],
                         ["python3.11-minimal=3.11.2", "headers=1 (compiled in)", "numpy=2.3.5 (wheel)"])
        self.assertIn(f"-s {rootfs} -p / {rootfs}/usr\n", (self.root / "compiled").read_text())

    def test_a_base_with_python_gets_only_packages(self):
        self.write_python()
        done = self.collect_python("python3.11-minimal=3.11.2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list((self.root / "rootfs").rglob("os.py")), [])
        self.assertEqual(len(list((self.root / "rootfs").rglob("numpy/__init__.py"))), 1)

    def test_a_wheel_without_a_licence_is_refused(self):
        self.write_python().unlink()
        done = self.collect_python()
        self.assertEqual(done.returncode, 1)
        self.assertIn("the wheel of numpy-2.3.5 has no licence in its .dist-info", done.stderr)

    def test_an_image_over_its_limit_is_refused(self):
        self.write("binaries/espalier", "x" * 2_500_000)
        done = self.collect("libc6=1", *PINS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the image adds 2 MB to its base (at most 1)", done.stdout)

    def test_the_c_library_comes_from_the_base(self):
        done = self.collect("libc6=1", pins=("libc6=2", *PINS))
        self.assertEqual(done.returncode, 1)
        self.assertIn("the base image's C library is too old for the pinned packages", done.stderr)


if __name__ == "__main__":
    unittest.main()
