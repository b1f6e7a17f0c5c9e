// Merges the user's partial pod templates into those of the operator.
#pragma once

#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

// Returns `ours`, whose first `programs` containers run the role's program, with a partial PodTemplateSpec merged into
// it. Objects are merged field by field; the lists containers, initContainers and imagePullSecrets by name,
// volumeMounts by mountPath, ports by containerPort. A volume or variable replaces the one with the same name.
// Tolerations are appended; other lists and scalars replace those of `ours`. Nulls are ignored.
//
// Then the parts that the program depends on are restored from `ours`: the image, command, args, termination message
// settings, variables of the operator (ESPALIER_*, AWS_*, *_NUM_THREADS, those from Secrets) and mounts of each program
// container and of the script's init container; the restartPolicy, lifecycle and probes of that init container; and the
// pod's volumes of ConfigMaps and Secrets, restartPolicy, subdomain, labels and annotations.
//
// Merging is idempotent. Values of a wrong type are merged without changes, so that the API server rejects them and
// names their path.
kube::Json MergePodTemplate(const kube::Json& ours, const kube::Json& partial, size_t programs = 1);

}  // namespace espalier::ctl::resources
