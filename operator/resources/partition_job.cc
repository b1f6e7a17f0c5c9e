#include "operator/resources/child.h"
#include "operator/resources/labels.h"
#include "operator/resources/names.h"
#include "operator/resources/role_pod.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

constexpr api::Role kRole = api::Role::kPartitioner;
constexpr std::chrono::seconds kGrace{30};  // it gives up within 10 s; what it wrote is of no use to anybody

// Whoever has started waits for pods that cannot be scheduled yet; one that has started and ends ends the Job at once.
constexpr std::chrono::hours kLongestStart{24};

// Partitioners find each other in the store by a name that no group had before: of the resource, the attempt, and how
// many they are, which may change while the job is suspended.
void AddGroup(const Context& context, int64_t partitioners, RolePod* pod) {
  const std::string size = std::to_string(partitioners);
  pod->VariableOfPod("ESPALIER_PARTITIONER_RANK", "metadata.annotations['" + std::string(kCompletionIndexLabel) + "']")
      .Variable("ESPALIER_PARTITIONER_WORLD_SIZE", size)
      .Variable("ESPALIER_PARTITIONER_GROUP",
                context.training.meta.uid + "-" + std::to_string(context.status.partition_attempt) + "-of-" + size)
      .Argument("--start-timeout-seconds=" + std::to_string(std::chrono::seconds(kLongestStart).count()));
}

}  // namespace

// The operator counts attempts, and tells a bad document from a lost node: the Job controller starts no second pod.
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
      .Argument("--job=$(ESPALIER_JOB)")  // it has no variables for the document and the threads
      .Argument("--output=" + Literal(PartitionsPrefix(context.training)))
      .Argument("--threads=$(ESPALIER_THREADS)")
      .Argument("--json")
      .Label(kAttemptLabel, std::to_string(attempt))
      .Field("restartPolicy", "Never")
      .GracePeriod(kGrace);
  Inputs inputs = SelectInputs(context, kRole);
  inputs.Add("attempt", attempt);
  // Its document lacks the program, whose spec.training need not name what the graph has.
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
