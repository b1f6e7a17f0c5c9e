// The fields of spec.checkpoint, spec.output, spec.tls, spec.scheduling and spec.runPolicy.
#include "services/job/fields/field_table.h"

namespace espalier::job {

using enum FieldType;
using enum Availability;

std::vector<FieldSpec> RunFields() {
  return {
      {.path = "spec.checkpoint", .member = &DistTraining::checkpoint, .meaning = "checkpoints and resuming"},
      {.path = "spec.checkpoint.every",
       .meaning = "triggers of a checkpoint, joined by \"or\"; by default every 600 seconds; if all are 0, a "
                  "checkpoint is written only at SIGTERM"},
      {.path = "spec.checkpoint.every.epochs",
       .member = &Checkpoint::every_epochs,
       .stays_missing = true,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000,
       .meaning = "number of epochs between checkpoints; 0 disables this trigger"},
      {.path = "spec.checkpoint.every.steps",
       .member = &Checkpoint::every_steps,
       .stays_missing = true,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000'000,
       .meaning = "number of steps between checkpoints; 0 disables this trigger"},
      {.path = "spec.checkpoint.every.seconds",
       .member = &Checkpoint::every,
       .stays_missing = true,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000'000,
       .meaning = "number of seconds after which the next step writes a checkpoint; 0 disables this trigger"},
      {.path = "spec.checkpoint.keep",
       .member = &Checkpoint::keep,
       .minimum_integer = 1,
       .maximum_integer = 1000,
       .meaning = "number of complete checkpoints to keep"},
      {.path = "spec.checkpoint.resumeFrom",
       .member = &Checkpoint::resume_from,
       .type = kUri,
       .meaning = "checkpoint of another run, or folder of its checkpoints, to resume from; checkpoints of the same "
                  "run take precedence"},
      {.path = "spec.output", .meaning = "outputs of the run"},
      {.path = "spec.output.uri",
       .member = &DistTraining::output_uri,
       .type = kUri,
       .max_prefix = kMaxOutputPrefixBytes,
       .meaning =
           "folder of checkpoints and results; `espalier run` uses its --output instead unless this is an s3:// URI"},
      {.path = "spec.output.save",
       .member = &DistTraining::output_save,
       .maximum_items = 4,
       .default_json = R"(["Model","Embeddings","Predictions"])",
       .meaning = "outputs to save in addition to result.json; TorchScript: the best model as a TorchScript program "
                  "(Model includes it only if the type of the model is TorchScript)"},
      {.path = "spec.output.nodesUri",
       .member = &DistTraining::output_nodes_uri,
       .type = kUri,
       .meaning = "folder with one `<node type>.npy` of original node ids per node type, to save embeddings and "
                  "predictions of these nodes only; by default of all nodes"},
      {.path = "spec.tls", .meaning = "transport security between the processes of the job"},
      {.path = "spec.tls.mode",
       .member = &DistTraining::tls,
       .stays_missing = true,
       .meaning = "Disabled: plaintext, which `espalier run` uses on loopback only; Managed: mutual TLS with generated "
                  "certificates; SecretRef (on a cluster): mutual TLS with the certificates of a Secret; by default "
                  "Disabled under `espalier run`, else Managed"},
      {.path = "spec.tls.secretName",
       .member = &DistTraining::tls_secret,
       .type = kObjectName,
       .availability = kClusterOnly,
       .meaning = "SecretRef: Secret with the keys ca.crt, server.crt, server.key, trainer.crt, trainer.key and, with "
                  "samplers, sampler.crt and sampler.key"},
      {.path = "spec.scheduling", .meaning = "how the pods of the job are scheduled"},
      {.path = "spec.scheduling.gang",
       .type = kEnum,
       .values = {"Auto", "Never"},
       .availability = kClusterOnly,
       .meaning =
           "Auto: the pods of a role start together or not at all, where the cluster has PodGroups "
           "(scheduling.k8s.io/v1beta1) and the operator uses them; Never: each pod starts when it has a node; by "
           "default Auto"},
      {.path = "spec.runPolicy", .meaning = "deadline, retries and cleanup of the run"},
      {.path = "spec.runPolicy.activeDeadlineSeconds",
       .member = &DistTraining::active_deadline,
       .minimum_integer = 1,
       .maximum_integer = 1'000'000'000,
       .meaning = "duration after which the run fails; by default there is no limit"},
      {.path = "spec.runPolicy.suspend",
       .type = kBool,
       .default_json = "false",
       .availability = kClusterOnly,
       .meaning = "suspend the job: it writes a checkpoint and its pods are deleted"},
      {.path = "spec.runPolicy.backoffLimit",
       .member = &DistTraining::backoff_limit,
       .minimum_integer = 0,
       .maximum_integer = 1000,
       .meaning = "number of failures that are retried (trainers resume from the newest checkpoint); the next "
                  "failure fails the run"},
      {.path = "spec.runPolicy.cleanPodPolicy",
       .type = kEnum,
       .default_json = "\"Running\"",
       .values = {"All", "Running", "None"},
       .availability = kClusterOnly,
       .meaning = "pods that are deleted when the job finishes; All: every pod; Running: graph servers, samplers and "
                  "every pod that still runs, so that logs of completed pods stay; None: only trainers and "
                  "partitioners that still run"},
      {.path = "spec.runPolicy.ttlSecondsAfterFinished",
       .type = kInteger,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000'000,
       .availability = kClusterOnly,
       .meaning = "seconds after which a finished job is deleted"},
      {.path = "spec.runPolicy.managedBy",
       .type = kString,
       .max_length = 63,
       .availability = kClusterOnly,
       .meaning = "controller that manages the job instead of this operator, as `domain/name`"},
      {.path = "spec.runPolicy.forceDeleteAfterSeconds",
       .type = kInteger,
       .default_json = "30",
       .minimum_integer = 0,
       .maximum_integer = 86400,
       .availability = kClusterOnly,
       .meaning = "seconds after which a pod that is still terminating is force-deleted, counted from the end of its "
                  "grace period, or from its eviction if the pod was evicted because its node is unreachable"},
  };
}

}  // namespace espalier::job
