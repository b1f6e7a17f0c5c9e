"""A job without TLS beside one with TLS: trainers connect through the ports of the network policy; the same parameters."""

from runner.world import CORA

LEVEL = "full"
SECONDS = 480
JOBS = {"secured": "Managed", "plain": "Disabled"}


def run_steps(world):
    namespace = world.namespace
    for name, mode in JOBS.items():
        # The document ends with a field of its spec.
        document = namespace.document(CORA, name=name, epochs="20", samplers="1") + f"  tls: {{mode: {mode}}}\n"
        namespace.kubectl("apply", "--filename", "-", stdin=document)
    for name in JOBS:
        job = namespace.wait_for_phase(name, "Succeeded", 240)
        assert job["status"]["incarnation"] == 1, job["status"]
    results = {name: namespace.result(name) for name in JOBS}
    world.note(f"accuracy {results['plain']['testAccuracy']:.3f}, digest {results['plain']['parametersDigest']}")
    for field in ("parametersDigest", "lossPerEpoch", "testAccuracy", "collective"):
        assert results["plain"][field] == results["secured"][field], (field, results)
