"""Link prediction over the relations of triples: the same numbers over any partitions and transports."""

import json

from harness import SOURCE, Scenario, espalier

EXAMPLE = SOURCE / "services/examples/fb15k-237.yaml"
ENTITIES = 120
RELATIONS = {"next": lambda i: i + 1, "double": lambda i: 2 * i, "across": lambda i: i + ENTITIES // 2,
             "mirrored": lambda i: -i}


def write_numbers(folder):
    """Writes triples that follow a rule for each relation. Of ten triples, one is for validation and one for
    testing."""
    folder.mkdir()
    parts = {"train": [], "valid": [], "test": []}
    for number, (relation, rule) in enumerate(RELATIONS.items()):
        for i in range(ENTITIES):
            part = {0: "valid", 1: "test"}.get((i * 7 + number) % 10, "train")
            parts[part].append(f"n{i}\t{relation}\tn{rule(i) % ENTITIES}\n")
    for part, lines in parts.items():
        (folder / f"{part}.txt").write_text("".join(lines))


class KnowledgeGraphs(Scenario):
    def setUp(self):
        super().setUp()
        self.graph = self.dir / "numbers"
        write_numbers(self.graph)
        self.counter = 0

    def train(self, *args, partitions=4, trainers=1, **training):
        """Runs the example on few triples, with some fields changed; returns result.json."""
        self.counter += 1
        output = self.dir / f"run-{self.counter}"
        fields = {"spec.graph.source.uri": self.graph, "spec.graph.partitions.count": partitions,
                  "spec.trainers.replicas": trainers}
        training = {"batchSize": 128, "epochs": 4, "task.negatives.count": 32} | training
        fields |= {f"spec.training.{name}": value for name, value in training.items()}
        sets = [word for name, value in fields.items() for word in ("--set", f"{name}={value}")]
        process = espalier("run", "-f", EXAMPLE, "--output", output, *sets, *args, timeout=240)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return json.loads((output / "result.json").read_text())

    def test_partitions_and_transports_change_no_bit(self):
        one = self.train(partitions=1)
        for access in ("mapped", "rpc"):
            four = self.train("--access", access)
            self.assertEqual(four["parametersDigest"], one["parametersDigest"])
            self.assertEqual(four["lossPerStep"], one["lossPerStep"])
            self.assertEqual(four["testMrr"], one["testMrr"])
        # Held-out triples and their reverses are in no partition.
        measured = sum(len((self.graph / f"{part}.txt").read_text().splitlines()) for part in ("valid", "test"))
        self.assertEqual(one["edges"], 2 * (len(RELATIONS) * ENTITIES - measured))

    def test_two_trainers_make_the_same_steps(self):
        one, two = self.train(), self.train(trainers=2)
        for mine, theirs in zip(two["lossPerStep"], one["lossPerStep"], strict=True):
            self.assertLess(abs(mine - theirs), 1e-3 * abs(theirs))
        self.assertAlmostEqual(two["testMrr"], one["testMrr"], delta=0.03)

    def test_every_scorer_runs(self):
        for scorer in ("Dot", "DistMult", "TransE", "RotatE"):
            result = self.train(**{"task.scorer": scorer, "epochs": 2})
            self.assertGreater(result["testMrr"], 0)
            self.assertLess(result["testMrr"], 1)
