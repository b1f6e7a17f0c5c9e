"""The commands that images/build runs. The script runs unchanged; its PATH has only stubs of docker, podman and buildah, and
the few programs that it needs itself."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(__file__).resolve().parent / "build"
VERSION = re.search(r"^project\(Espalier VERSION ([0-9.]+)", (BUILD.parents[1] / "CMakeLists.txt").read_text(),
                    re.MULTILINE).group(1)
NEEDED = ("bash", "cat", "date", "dirname", "head", "mkdir", "sed")
TOOLS = ("docker", "podman", "buildah")

# Records its arguments, one call per line, and prints the labels of the image that was built last.
STUB = """#!/bin/sh
tool=${0##*/}
{
  printf %s "$tool"
  for word; do printf '\\t%s' "$word"; done
  echo
} >>"$FOLDER/calls"
case "$1" in
  info) exit "$DOCKER_INFO" ;;
  build | bud)
    echo "${DOCKER_BUILDKIT:-none}" >"$FOLDER/$tool-buildkit"
    for word; do
      case "$word" in VERSION=* | REVISION=*) echo "${word#*=}" ;; esac
    done >"$FOLDER/labels"
    echo "espalier-$3" >"$FOLDER/title" ;;
  inspect | image)
    case "$*" in *Digest*) echo "sha256:0123abcd"; exit ;; esac
    case "$*" in *Architecture*) architecture=$IMAGE_ARCHITECTURE ;; esac
    echo "$IMAGE_USER" $(cat "$FOLDER/title") Apache-2.0 $(cat "$FOLDER/labels") $architecture ;;
  images) echo 123 MB ;;
esac
"""


class BuildTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-images-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "bin").mkdir()
        for name in NEEDED:
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        self.write("git", '#!/bin/sh\ncase "$1" in rev-parse) echo 0123abc ;; status) printf "$GIT_STATUS" ;; esac\n')

    def write(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def build(self, *words, tools=TOOLS, docker_info=0, user="65532:65532", script=BUILD, git_status="",
              architecture="arm64"):
        """Runs images/build and returns the process."""
        (self.folder / "calls").write_text("")
        for name in TOOLS:
            (self.folder / "bin" / name).unlink(missing_ok=True)
        for name in tools:
            self.write(name, STUB)
        return subprocess.run(
            [shutil.which("bash"), script, *words], capture_output=True, text=True, timeout=60,
            env={"PATH": str(self.folder / "bin"), "FOLDER": str(self.folder), "DOCKER_INFO": str(docker_info),
                 "IMAGE_USER": user, "GIT_STATUS": git_status, "IMAGE_ARCHITECTURE": architecture})

    def calls(self, *verbs):
        """Returns the arguments of each recorded call whose first argument is one of these."""
        calls = [line.split("\t") for line in (self.folder / "calls").read_text().splitlines()]
        return [words for words in calls if words[1] in verbs]

    def sources(self):
        """Copies images/build into a folder with sources that nothing compiles."""
        (self.folder / "sources/images").mkdir(parents=True)
        shutil.copy(BUILD.parents[1] / "CMakeLists.txt", self.folder / "sources")
        wheels = self.folder / "sources/images/python-wheels"
        wheels.write_text('#!/bin/sh\nprintf "wheels\\t%s\\t%s\\n" "$@" >>"$FOLDER/calls"\n')
        wheels.chmod(0o755)
        cross = self.folder / "sources/images/cross"
        cross.write_text('#!/bin/sh\nprintf "cross\\t%s\\n" "$*" >>"$FOLDER/calls"\nmkdir -p build/arm64/rootfs\n')
        cross.chmod(0o755)
        return pathlib.Path(shutil.copy(BUILD, self.folder / "sources/images"))

    def test_each_tool_builds_the_images(self):
        for tool, verb, buildkit in (("docker", "build", "1"), ("podman", "build", "none"), ("buildah", "bud", "none")):
            done = self.build(tools=[tool])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.calls("build", "bud"), [
                [tool, verb, "--target", name, "--tag", f"espalier-{name}:{VERSION}", "--file", "images/Dockerfile",
                 "--build-arg", "BASE=debian:bookworm-slim", "--build-arg", "BINARIES=compiled",
                 "--build-arg", "CORE_FILES=core-files", "--build-arg", f"VERSION={VERSION}",
                 "--build-arg", "REVISION=0123abc",
                 *(["--layers"] if tool == "buildah" else []), "."]  # the others keep layers anyway
                for name in ("core", "trainer", "python")])
            self.assertEqual((self.folder / f"{tool}-buildkit").read_text().strip(), buildkit)
            for name in ("core", "trainer", "python"):
                self.assertIn(f"images/build: espalier-{name}:{VERSION}, 123 MB with its base\n", done.stdout)

    def test_the_first_working_tool_is_used(self):
        for tools, docker_info, taken in ((TOOLS, 0, "docker"), (TOOLS, 1, "podman"),
                                          (["docker", "buildah"], 1, "buildah")):
            self.assertEqual(self.build("core", tools=tools, docker_info=docker_info).returncode, 0)
            self.assertEqual({words[0] for words in self.calls("build", "bud")}, {taken})
        self.assertEqual(self.build("core", "--tool", "podman").returncode, 0)
        self.assertEqual({words[0] for words in self.calls("build", "bud")}, {"podman"})

    def test_without_a_tool_the_error_names_them(self):
        for tools, docker_info in (([], 0), (["docker"], 1)):
            done = self.build(tools=tools, docker_info=docker_info)
            self.assertEqual(done.returncode, 69)
            self.assertEqual(done.stderr, "images/build: needs docker, podman or buildah\n")

    def test_options_are_forwarded(self):
        archives = self.folder / "archives"
        for tool in ("podman", "buildah"):
            done = self.build("core", "--binaries", "given", "--base", "localhost/debian", "--tool", tool,
                              "--prefix", "reg/espalier", "--tag", "1.2.3", "--archive", archives)
            self.assertEqual(done.returncode, 0, done.stderr)
            [words] = self.calls("build", "bud")
            self.assertEqual(words[2:6], ["--target", "core", "--tag", "reg/espalier-core:1.2.3"])
            self.assertLessEqual({"BASE=localhost/debian", "BINARIES=given", "VERSION=1.2.3"}, set(words))
            self.assertEqual(self.calls("push"), [
                [tool, "push", "reg/espalier-core:1.2.3",
                 f"oci-archive:{archives}/espalier-core.tar:reg/espalier-core:1.2.3"]])
            self.assertTrue(archives.is_dir())

    def test_an_archive_has_a_record_of_its_build(self):
        archives = self.folder / "archives"
        for tool, git_status, changed in (("podman", "", "no"), ("buildah", " M images/build", "yes")):
            done = self.build("core", "--tool", tool, "--archive", archives, "--base", "localhost/debian",
                              git_status=git_status)
            self.assertEqual(done.returncode, 0, done.stderr)
            record = dict(line.split("=", 1) for line in (archives / "espalier-core.build").read_text().splitlines())
            for name in ("started", "finished"):
                self.assertRegex(record.pop(name), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertEqual(record, {
                "image": "core", "reference": f"espalier-core:{VERSION}", "base": "localhost/debian",
                "base-digest": "sha256:0123abcd", "binaries": "compiled", "tag": VERSION, "tool": tool,
                "revision": "0123abc", "changed": changed})
            self.assertIn("localhost/debian", self.calls("inspect", "image")[-1])

    def test_the_images_with_cuda_are_built_when_they_are_named(self):
        for name in ("python-torch", "trainer-cuda"):
            self.assertEqual(self.build(name).returncode, 0)
            [words] = self.calls("build", "bud")
            self.assertEqual(words[2:6], ["--target", name, "--tag", f"espalier-{name}:{VERSION}"])

    def test_an_extension_module_that_is_given_gets_its_wheels(self):
        script = self.sources()
        for name in ("python", "python-torch"):
            done = self.build("--binaries", "given", name, script=script)
            self.assertEqual(done.returncode, 66, done.stderr)
            self.assertIn("there is no build/release/python/espalier/_core.abi3.so", done.stderr)
        self.assertEqual(self.calls("build", "bud", "python"), [])

        module = self.folder / "sources/build/release/python/espalier/_core.abi3.so"
        module.parent.mkdir(parents=True)
        module.touch()
        for name in ("python", "python-torch"):
            done = self.build("--binaries", "given", name, script=script)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.calls(name), [["wheels", name, f"build/python-wheels/{name}"]])
            self.assertEqual(len(self.calls("build", "bud")), 1)

    def test_trainers_that_are_given_get_the_libraries_of_torch(self):
        script = self.sources()
        for name in ("trainer", "trainer-cuda"):
            done = self.build("--binaries", "given", name, script=script)
            self.assertEqual(done.returncode, 66, done.stderr)
            self.assertEqual(done.stderr, "images/build: there is no build/torch, whose libraries the trainer's image gets: "
                                          "./quickstart.sh makes it (without ESPALIER_TORCH)\n")
        self.assertEqual(self.calls("build", "bud", "trainer-cuda"), [])

        (self.folder / "sources/build/torch").mkdir(parents=True)
        (self.folder / "sources/build/torch/made-from").touch()
        for name, wheels in (("trainer", []), ("trainer-cuda", [["wheels", "trainer-cuda", "build/python-wheels/trainer-cuda"]])):
            done = self.build("--binaries", "given", name, script=script)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.calls(name), wheels)
            self.assertEqual(len(self.calls("build", "bud")), 1)

    def test_core_for_arm64_comes_from_images_cross(self):
        script = self.sources()
        done = self.build("--architecture", "arm64", "--binaries", "given", script=script)
        self.assertEqual(done.returncode, 66)
        self.assertEqual(done.stderr, "images/build: there is no build/arm64/rootfs: images/cross arm64 makes it\n")
        for tool, verb, config in (("docker", "build", ""), ("podman", "build", ""), ("buildah", "bud", ".OCIv1")):
            done = self.build("--architecture", "arm64", tools=[tool], script=script)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.calls("arm64"), [["cross", "arm64"]])
            self.assertEqual(self.calls("build", "bud"), [
                [tool, verb, "--target", "core", "--tag", f"espalier-core:{VERSION}-arm64",
                 "--file", "images/Dockerfile",
                 "--build-arg", "BASE=debian:bookworm-slim", "--build-arg", "BINARIES=compiled",
                 "--build-arg", "CORE_FILES=core-cross-files", "--build-arg", f"VERSION={VERSION}",
                 "--build-arg", "REVISION=0123abc", "--platform", "linux/arm64", *(["--layers"] if tool == "buildah" else []), "."]])
            [asked] = self.calls("inspect", "image")
            self.assertTrue(asked[-2].endswith(f" {{{{{config}.Architecture}}}}"), asked)

        done = self.build("--architecture", "arm64", "--binaries", "given", script=script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls("arm64"), [])
        done = self.build("--architecture", "arm64", script=script, architecture="amd64")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"Apache-2.0 {VERSION} 0123abc amd64', expected '65532:65532 espalier-core", done.stderr)

    def test_the_archive_for_arm64_has_its_own_names(self):
        archives = self.folder / "archives"
        done = self.build("--architecture", "arm64", "core", "--archive", archives, tools=["podman"], script=self.sources())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls("push")[0][3],
                         f"oci-archive:{archives}/espalier-core-arm64.tar:espalier-core:{VERSION}-arm64")
        record = dict(line.split("=", 1) for line in (archives / "espalier-core-arm64.build").read_text().splitlines())
        self.assertEqual((record["image"], record["architecture"], record["tag"]), ("core", "arm64", VERSION))

    def test_the_other_images_are_only_for_x86_64(self):
        for names in (["trainer"], ["core", "python"]):
            done = self.build("--architecture", "arm64", *names)
            self.assertEqual(done.returncode, 64)
            self.assertEqual(done.stderr, f"images/build: --architecture arm64 is for core alone, found {' '.join(names)}: the "
                                          "others have programs with torch or Python's wheels, which are for x86-64\n")

    def test_user_and_labels_of_the_image_are_checked(self):
        for tool, words, config in (("docker", ["image", "inspect"], ".Config"),
                                    ("podman", ["image", "inspect"], ".Config"),
                                    ("buildah", ["inspect", "--type", "image"], ".OCIv1.Config")):
            self.assertEqual(self.build("core", tools=[tool]).returncode, 0)
            [asked] = self.calls("inspect", "image")
            labels = [f'{{{{index {config}.Labels "org.opencontainers.image.{label}"}}}}'
                      for label in ("title", "licenses", "version", "revision")]
            self.assertEqual(asked, [tool, *words, "--format", " ".join([f"{{{{{config}.User}}}}", *labels]),
                                     f"espalier-core:{VERSION}"])

            done = self.build("core", tools=[tool], user="root")
            self.assertEqual(done.returncode, 1)
            said = f"espalier-core Apache-2.0 {VERSION} 0123abc'"
            self.assertIn(f"has user and labels 'root {said}, expected '65532:65532 {said}\n", done.stderr)

    def test_unknown_arguments_are_refused(self):
        for words in (["--binaries", "none"], ["--architecture", "riscv64"], ["--tag"], ["--tool", "kaniko"], ["operator"],
                      ["--tags", "1"]):
            done = self.build(*words)
            self.assertEqual(done.returncode, 64, words)
            self.assertIn("images/build [OPTIONS]", done.stderr)
            self.assertEqual(self.calls("build", "bud"), [])
        done = self.build("--archive", self.folder / "archives", tools=["docker"])
        self.assertEqual(done.returncode, 64)
        self.assertIn("--archive needs podman or buildah", done.stderr)


if __name__ == "__main__":
    unittest.main()
