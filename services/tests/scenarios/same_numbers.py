"""A seed gives the same result for any number of partitions, samplers and trainers, and for any transport."""

from graph_folders import write_timed_graph
from harness import Scenario, job

GRAPH = ["--nodes", 3000, "--edges", 40000, "--communities", 30, "--classes", 5, "--features", 12, "--seed", 3]


class SameNumbers(Scenario):
    def setUp(self):
        super().setUp()
        self.graph = self.generate(*GRAPH)
        self.counter = 0

    def train(self, *args, **changes):
        self.counter += 1
        return self.run_job(job(self.graph, **changes), f"run-{self.counter}", "--audit", *args)

    @staticmethod
    def spread(partitions, algorithm, samplers, access):
        return ["--access", access], dict(graph__partitions={"count": partitions, "algorithm": algorithm},
                                          samplers={"replicas": samplers})

    def test_one_trainer_gives_the_same_bits_for_any_partitions_samplers_and_access(self):
        expected = self.train(graph__partitions={"count": 1, "algorithm": "METIS"})
        # Every pair of values of two of (partitions, algorithm, samplers, access) is in some row.
        spread = [self.spread(*row) for row in (
            (1, "METIS", 1, "mapped"), (1, "Random", 3, "rpc"),
            (2, "METIS", 0, "mapped"), (2, "Random", 1, "rpc"), (2, "METIS", 3, "rpc"), (2, "Streaming", 0, "rpc"),
            (4, "Random", 0, "rpc"), (4, "METIS", 1, "rpc"), (4, "Random", 3, "mapped"))]
        for args, changes in spread:
            result = self.train(*args, **changes)
            with self.subTest(args=args, **changes):
                self.assertEqual(result["samplesDigest"], expected["samplesDigest"])
                self.assertEqual(result["parametersDigest"], expected["parametersDigest"])
                self.assertEqual(result["lossPerEpoch"], expected["lossPerEpoch"])
                self.assertEqual(result["testAccuracy"], expected["testAccuracy"])

    def test_every_sampling_method_gives_the_same_bits_for_any_partitions_samplers_and_access(self):
        self.graph = write_timed_graph(self.dir / "timed")
        layers = [{"fanout": 5}, {"fanout": 5}]
        timed = dict(training__evaluation={"neighborhood": "Sampled"}, output={"save": ["Model"]})
        ways = {
            "plain": (dict(layers=layers), {}),
            "labor": (dict(layers=layers, method="Labor"), {}),
            "labor of all layers": (dict(layers=layers, method="Labor", layerDependency=True), {}),
            "each node once": (dict(layers=layers, expand="Once"), {}),
            "masked": (dict(layers=layers, weight="source.may-be-drawn"), {}),
            "up to the seed's time": (dict(layers=layers, seedTime="joined"), timed),
            "the last": (dict(layers=layers, seedTime="joined", method="Last"), timed),
        }
        digests = set()
        for name, (sampling, changes) in ways.items():
            results = []
            for partitions, algorithm, samplers, access in ((1, "METIS", 0, "mapped"), (3, "Random", 2, "rpc")):
                args, spread = self.spread(partitions, algorithm, samplers, access)
                spread["graph__partitions"]["sourceColumns"] = ["may-be-drawn"]
                results.append(self.train(*args, **spread, **changes, graph__timeColumn="when",
                                          training__sampling=sampling, training__epochs=2))
            with self.subTest(name):
                self.assertEqual(results[0]["samplesDigest"], results[1]["samplesDigest"])
                self.assertEqual(results[0]["parametersDigest"], results[1]["parametersDigest"])
            digests.add(results[0]["samplesDigest"])
        self.assertEqual(len(digests), len(ways))

    def test_learnable_rows_give_the_same_bits_for_any_partitions_samplers_and_access(self):
        optimizer = {"type": "Adagrad", "learningRate": 0.05}
        ways = {
            "alone": [{"embedding": {"size": 8, "optimizer": optimizer}}],
            "beside features": [{"features": ["node-feat"], "embedding": {
                "size": 4, "dtype": "BF16", "initializer": {"type": "Normal", "deviation": 0.1},
                "optimizer": {"type": "Adam", "learningRate": 0.01}}}],
        }
        digests = set()
        for name, inputs in ways.items():
            results = []
            for spread in ((1, "METIS", 0, "mapped"), (2, "Random", 2, "rpc"), (4, "METIS", 0, "rpc")):
                args, changes = self.spread(*spread)
                results.append(self.train(*args, **changes, training__inputs=inputs))
            for result in results[1:]:
                with self.subTest(name):
                    self.assertEqual(result["parametersDigest"], results[0]["parametersDigest"])
                    self.assertEqual(result["lossPerEpoch"], results[0]["lossPerEpoch"])
                    self.assertEqual(result["testAccuracy"], results[0]["testAccuracy"])
            digests.add(results[0]["parametersDigest"])
        self.assertEqual(len(digests), len(ways))

    def test_several_trainers_draw_the_same_samples_and_learn_the_same_within_rounding(self):
        one = self.train()
        for trainers, spread in (2, (2, "METIS", 0, "mapped")), (3, (4, "Random", 3, "rpc")):
            args, changes = self.spread(*spread)
            result = self.train(*args, trainers={"replicas": trainers, "threads": 1}, **changes)
            self.assertEqual(result["samplesDigest"], one["samplesDigest"])
            self.assertEqual(len(result["lossPerStep"]), len(one["lossPerStep"]))
            for mine, theirs in zip(result["lossPerStep"], one["lossPerStep"]):
                self.assertLess(abs(mine - theirs), 1e-4 * abs(theirs))
            self.assertAlmostEqual(result["testAccuracy"], one["testAccuracy"], delta=0.01)

    def test_results_depend_on_the_seed(self):
        first, again = self.train(), self.train()
        other = self.train(training__seed=2)
        self.assertEqual(first["parametersDigest"], again["parametersDigest"])
        self.assertEqual(first["samplesDigest"], again["samplesDigest"])
        self.assertNotEqual(first["parametersDigest"], other["parametersDigest"])
        self.assertNotEqual(first["samplesDigest"], other["samplesDigest"])
