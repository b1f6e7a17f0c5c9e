"""values.yaml has each value of the schema with a comment, and the chart's copies of other files are up to date."""

import json
import pathlib
import re
import unittest

CHART = pathlib.Path(__file__).resolve().parents[1] / "espalier"
KEY = re.compile(r"( *)(\w+):(.*)")


def keys():
    """Returns (path, whether a description is directly above it, whether it is a group) for each key of values.yaml. Parses
    only the YAML syntax that this file uses."""
    found, path, comment = [], [], None
    for line in (CHART / "values.yaml").read_text().splitlines():
        if line.strip().startswith("#"):
            comment = comment or line.strip()
            continue
        if match := KEY.fullmatch(line):
            indentation, name, value = match.groups()
            path = [*path[:len(indentation) // 2], name]
            found.append((".".join(path), bool(comment and comment.startswith("# -- ")), not value))
        elif line:
            raise ValueError(f"values.yaml: expected a key, a comment or nothing: {line}")
        comment = None
    return found


def of_schema(schema, path=()):
    """Yields the paths of all values in the schema."""
    for name, one in schema["properties"].items():
        if "properties" in one:
            yield from of_schema(one, (*path, name))
        else:
            yield ".".join((*path, name))


class ValuesTest(unittest.TestCase):
    def test_each_key_has_a_comment(self):
        self.assertGreater(len(keys()), 60)
        self.assertEqual([path for path, is_explained, is_group in keys() if not is_explained and not is_group], [])

    def test_the_schema_has_all_values(self):
        # Values of helm itself, and of a chart that has this one as an optional dependency.
        others = {"global", "enabled"}
        chosen = set(of_schema(json.loads((CHART / "values.schema.json").read_text()))) - others
        self.assertEqual(sorted(chosen - {path for path, _, _ in keys()}), [])

    def test_each_flag_of_the_operator_is_set_by_the_chart(self):
        page = (CHART.parents[1] / "docs/reference/command-line.md").read_text()
        section = page.partition("\n## espalier-operator\n")[2].partition("\n## ")[0]
        flags = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", section, re.MULTILINE))
        self.assertGreater(len(flags), 25)
        # A pod uses its service account, not a kubeconfig file.
        others = {"--help", "--version", "--kubeconfig", "--context"}
        template = (CHART / "templates/deployment.yaml").read_text()
        set_here = set(re.findall(r"^ +- (--[a-z-]+)", template, re.MULTILINE))
        self.assertEqual(flags - set_here, others)
        self.assertEqual(set_here - flags, {"--no-leader-elect"})

    def test_annotations_of_artifact_hub_show_the_definition_and_an_example(self):
        """Compares lines instead of parsing YAML: the example is a list with one item, the lines of the file."""
        chart = (CHART / "Chart.yaml").read_text()
        lines = [line for line in (CHART.parents[1] / "crds/examples/minimal.yaml").read_text().splitlines()
                 if not line.startswith("#")]
        example = "".join(("    - " if number == 0 else "      ") + line + "\n" for number, line in enumerate(lines))
        self.assertIn("  artifacthub.io/crdsExamples: |\n" + example, chart)
        definition = (CHART / "files/disttrainings.yaml").read_text()
        for name, pattern in (("name", r"^  name: (\S+)$"), ("kind", r"^    kind: (\S+)$"), ("version", r"^  - name: (\S+)$")):
            [value] = re.findall(pattern, definition, re.MULTILINE)
            self.assertRegex(chart, rf"(?m)^    (- |  ){name}: {re.escape(value)}$")

    def test_copied_files_are_identical(self):
        """The copies are files, because symbolic links do not survive every way of distributing a chart."""
        origins = {"disttrainings.yaml": "crds/disttrainings.yaml"}
        for name in ("role.yaml", "kueue_role.yaml", "kueue_cluster_role.yaml", "gang_role.yaml", "metrics_cluster_role.yaml"):
            origins[name] = f"operator/rbac/{name}"
        for name, origin in origins.items():
            copy = CHART / "files" / name
            self.assertFalse(copy.is_symlink(), name)
            self.assertEqual(copy.read_text(), (CHART.parents[1] / origin).read_text(),
                             f"cp {origin} helm/espalier/files/{name}")


if __name__ == "__main__":
    unittest.main()
