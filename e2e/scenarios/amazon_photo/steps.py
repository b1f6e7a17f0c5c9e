"""A second graph, cut into four partitions, with and without samplers: the accuracy that one machine reaches."""

import pathlib

LEVEL = "full"
SECONDS = 600
NEEDS_GRAPH = "amazon-photo"  # of ESPALIER_TEST_DATA
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
LEAST_ACCURACY = 0.90  # as on one machine (services/tests/scenarios/train_amazon_photo.py)


def run_steps(world):
    digests = [trained(world, samplers) for samplers in (2, 0)]
    # Samplers and trainers sample the same mini-batches, with the same results.
    assert not world.is_own_cluster() or digests[0] == digests[1], digests


def trained(world, samplers):
    """Runs the job to its end, checks its result, and removes it. Returns the digest of the parameters."""
    namespace = world.namespace
    namespace.apply(MANIFEST, graph=world.bucket.uri(NEEDS_GRAPH), samplers=str(samplers))
    namespace.wait_for_phase("photo", "Succeeded", 420)
    result = namespace.result("photo")
    world.note(f"{samplers} samplers: accuracy {result['testAccuracy']:.3f} on test nodes")
    assert result["testAccuracy"] >= LEAST_ACCURACY, result["testAccuracy"]
    assert result["partitions"] == 4 and result["trainers"] == 2, result
    assert result["samplers"] == samplers, result
    world.bucket.verify(namespace.run_prefix("photo"))
    namespace.delete_job("photo", 60)
    return result["parametersDigest"]
