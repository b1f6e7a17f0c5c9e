// A role's pods: what the program needs, the user's partial template merged into it by name, ours winning where the
// program depends on it.
#pragma once

#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

// `ours`, whose first `programs` containers run the program, and a partial PodTemplateSpec: objects are merged field by
// field; containers, initContainers, env and imagePullSecrets by name, volumeMounts by mountPath, ports by
// containerPort; a volume of the same name replaces ours, because it has one source; tolerations are appended; other
// lists and scalars replace. What is null says nothing. Then what `ours` must keep is put back: each program's image,
// command, args, termination message, its variables of the operator's (ESPALIER_*, AWS_*, *_NUM_THREADS, those from
// Secrets), its mounts, volumes of ConfigMaps and Secrets, restartPolicy, subdomain, and labels and annotations of
// ours.
//
// Merging a template twice is merging it once. What is of the wrong type is left for the API server to refuse, by
// its path.
kube::Json MergePodTemplate(const kube::Json& ours, const kube::Json& partial, size_t programs = 1);

}  // namespace espalier::ctl::resources
