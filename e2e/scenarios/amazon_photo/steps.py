"""A second graph, cut into four partitions, with samplers of its own: the accuracy that one machine reaches."""

import pathlib

LEVEL = "full"
SECONDS = 480
NEEDS_GRAPH = "amazon-photo"  # of ESPALIER_TEST_DATA
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
LEAST_ACCURACY = 0.90  # as on one machine (services/tests/scenarios/train_amazon_photo.py)


def story(world):
    namespace = world.namespace
    namespace.apply(MANIFEST, graph=world.bucket.uri(NEEDS_GRAPH))
    namespace.wait_for_phase("photo", "Succeeded", 420)
    result = namespace.result("photo")
    world.note(f"accuracy {result['testAccuracy']:.3f} on test nodes")
    assert result["testAccuracy"] >= LEAST_ACCURACY, result["testAccuracy"]
    assert result["partitions"] == 4 and result["trainers"] == 2, result
    world.bucket.verify(namespace.run_prefix("photo"))
