// spec.checkpoint, spec.output, spec.tls, spec.runPolicy: what a run leaves behind, and how long and how often it
// tries.
#include "services/job/field_table.h"

namespace espalier::job {

using enum FieldType;
using enum Availability;

std::vector<FieldSpec> RunFields() {
  return {
      {.path = "spec.checkpoint", .meaning = "saving and resuming a run"},
      {.path = "spec.checkpoint.every",
       .meaning = "when the state is saved, whichever comes first; nothing written: every 600 seconds; only zeros: "
                  "when asked to stop"},
      {.path = "spec.checkpoint.every.epochs",
       .type = kInteger,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000,
       .meaning = "after every so many epochs; 0: not by epochs"},
      {.path = "spec.checkpoint.every.steps",
       .type = kInteger,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000'000,
       .meaning = "after every so many steps; 0: not by steps"},
      {.path = "spec.checkpoint.every.seconds",
       .type = kInteger,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000'000,
       .meaning = "at the first step after so many seconds; 0: not by time"},
      {.path = "spec.checkpoint.keep",
       .type = kInteger,
       .default_json = "2",
       .minimum_integer = 1,
       .maximum_integer = 1000,
       .meaning = "newest complete checkpoints that are kept"},
      {.path = "spec.checkpoint.resumeFrom",
       .type = kUri,
       .meaning = "another run's checkpoint, or folder of checkpoints, to go on from; the run's own come first"},
      {.path = "spec.output", .meaning = "what a run leaves behind"},
      {.path = "spec.output.uri",
       .type = kUri,
       .max_prefix = kMaxOutputPrefixBytes,
       .meaning = "where checkpoints and results go; `espalier run`: its --output unless this is s3://"},
      {.path = "spec.output.save",
       .type = kEnum,
       .is_list = true,
       .maximum_items = 3,
       .default_json = R"(["Model","Embeddings","Predictions"])",
       .values = {"Model", "Embeddings", "Predictions"},
       .meaning = "what is saved besides the result"},
      {.path = "spec.output.nodesUri",
       .type = kUri,
       .meaning = "folder with one `<node type>.npy` of original ids each: embeddings and predictions of these nodes "
                  "only; unset: of all nodes"},
      {.path = "spec.tls", .meaning = "protection of the job's connections"},
      {.path = "spec.tls.mode",
       .type = kEnum,
       .values = {"Disabled", "Managed", "SecretRef"},
       .meaning =
           "Disabled: plain text, and loopback only under `espalier run`; Managed: mutual TLS, with certificates "
           "made for this run; SecretRef (only on a cluster): mutual TLS with given certificates; unset: Disabled "
           "under `espalier run`, Managed elsewhere"},
      {.path = "spec.tls.secretName",
       .type = kObjectName,
       .availability = kClusterOnly,
       .meaning =
           "SecretRef: Secret with ca.crt and server.crt, server.key, trainer.crt, trainer.key, and with samplers "
           "sampler.crt, sampler.key"},
      {.path = "spec.runPolicy", .meaning = "how long and how often"},
      {.path = "spec.runPolicy.activeDeadlineSeconds",
       .type = kInteger,
       .minimum_integer = 1,
       .maximum_integer = 1'000'000'000,
       .meaning = "the run is ended after this long; unset: never"},
      {.path = "spec.runPolicy.suspend",
       .type = kBool,
       .default_json = "false",
       .availability = kClusterOnly,
       .meaning = "hold the job: it checkpoints and gives its pods back"},
      {.path = "spec.runPolicy.backoffLimit",
       .type = kInteger,
       .default_json = "3",
       .minimum_integer = 0,
       .maximum_integer = 1000,
       .meaning = "failures after which training starts again from the newest checkpoint; one more fails the run"},
      {.path = "spec.runPolicy.cleanPodPolicy",
       .type = kEnum,
       .default_json = "\"Running\"",
       .values = {"All", "Running", "None"},
       .availability = kClusterOnly,
       .meaning =
           "pods deleted at the end, besides trainers and partitioners that still run. All: all; Running: graph "
           "servers and samplers, so that logs of pods that have ended stay; None: none, graph servers and samplers "
           "stay with their memory"},
      {.path = "spec.runPolicy.ttlSecondsAfterFinished",
       .type = kInteger,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000'000,
       .availability = kClusterOnly,
       .meaning = "when the finished resource is deleted"},
      {.path = "spec.runPolicy.managedBy",
       .type = kString,
       .max_length = 63,
       .availability = kClusterOnly,
       .meaning = "another controller in charge, as `domain/name`"},
      {.path = "spec.runPolicy.forceDeleteAfterSeconds",
       .type = kInteger,
       .default_json = "30",
       .minimum_integer = 0,
       .maximum_integer = 86400,
       .availability = kClusterOnly,
       .meaning = "a pod of a dead node is given up this long after its deletion was asked for"},
  };
}

}  // namespace espalier::job
