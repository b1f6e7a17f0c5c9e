"""A job on the cluster of the current kubeconfig. python python/examples/submit.py job.yaml FOLDER"""

import sys

import espalier as ep

document, folder = sys.argv[1:]

# [example]
job = ep.submit(document)  # a dict, or the path of a YAML file
job.wait(timeout=3600)  # shows progress; raises the error that has ended the job
print(job.logs("trainer", 0))
results = job.results(folder)  # like the results of ep.run
print(results)
# [example]
