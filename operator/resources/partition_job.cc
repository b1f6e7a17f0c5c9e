#include "operator/resources/child.h"
#include "operator/resources/labels.h"
#include "operator/resources/names.h"
#include "operator/resources/role_pod.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

constexpr api::Role kRole = api::Role::kPartitioner;
constexpr std::chrono::seconds kGrace{30};  // the partitioner ends within 10 s; incomplete output is not used

// How long partitioners wait for pods of their group that cannot be scheduled yet. The time may be long: if a
// partitioner fails, the Job ends at once and nothing waits.
constexpr std::chrono::hours kStartTimeout{24};

// Partitioners find each other in the store of the partitions by the name of their group. The name must be unique, so
// it contains the uid, the attempt and the number of partitioners. (That number may change while the job is suspended.)
void AddGroup(const Context& context, int64_t partitioners, RolePod* pod) {
  const std::string size = std::to_string(partitioners);
  pod->VariableOfPod("ESPALIER_PARTITIONER_RANK", "metadata.annotations['" + std::string(kCompletionIndexLabel) + "']")
      .Variable("ESPALIER_PARTITIONER_WORLD_SIZE", size)
      .Variable("ESPALIER_PARTITIONER_GROUP",
                context.training.meta.uid + "-" + std::to_string(context.status.partition_attempt) + "-of-" + size)
      .Argument("--start-timeout-seconds=" + std::to_string(std::chrono::seconds(kStartTimeout).count()));
}

}  // namespace

// With backoffLimit 0 the Job controller never replaces a pod. The operator starts a new attempt instead, because it
// distinguishes an invalid document from a lost node.
Json PartitionJob(const Context& context) {
  const int64_t attempt = context.status.partition_attempt;
  const std::string& name = context.training.meta.key.name;
  const int64_t partitioners = context.training.spec->job.partitioner_replicas;
  RolePod pod(context, kRole, "espalier-partitioner");
  pod.Document(ConfigName(name))
      .ObjectStorage()
      .Cache()
      .ThreadsByProcessorLimit()
      .AdminPort()
      .Argument("--job=$(ESPALIER_JOB)")  // espalier-partitioner does not read these variables itself
      .Argument("--output=" + Literal(PartitionsPrefix(context.training)))
      .Argument("--threads=$(ESPALIER_THREADS)")
      .Argument("--json")
      .Label(kAttemptLabel, std::to_string(attempt))
      .Field("restartPolicy", "Never")
      .GracePeriod(kGrace);
  Inputs inputs = SelectInputs(context, kRole);
  inputs.Add("attempt", attempt);
  // The document for the partitioner lacks the program, so a flag says that spec.training may be incomplete.
  const std::optional<job::Program>& program = context.training.spec->job.program;
  if (program) pod.Argument("--trained-by-program");
  if (program && program->script) pod.Script(*program->script);
  if (partitioners > 1) {
    AddGroup(context, partitioners, &pod);
    inputs.Add("partitioners", partitioners);
  }
  Json job = MakeChild(context, kube::kJobs, PartitionJobName(name, attempt), api::ToString(kRole), inputs);
  job["metadata"]["labels"][kAttemptLabel] = std::to_string(attempt);
  job["spec"] = {
      {"completions", partitioners}, {"parallelism", partitioners}, {"backoffLimit", 0}, {"template", pod.Template()}};
  if (partitioners > 1) job["spec"]["completionMode"] = "Indexed";
  return job;
}

}  // namespace espalier::ctl::resources
