"""FB15k-237, whole: published filtered MRR 0.241 (DistMult in ConvE's table), 0.343 (LibKGE)."""

import tarfile

from example_of_triples import DATA, ExampleOfTriples


class TrainFb15k237(ExampleOfTriples):
    def test_fb15k_237(self):
        source = self.dir / "FB15k-237"
        with tarfile.open(DATA / "FB15k-237.tar.gz") as archive:
            archive.extractall(source, filter="data")
        source = next(source.rglob("train.txt")).parent
        for scorer in ("DistMult", "ComplEx"):
            self.assertGreaterEqual(self.train(source, scorer), 0.24)
