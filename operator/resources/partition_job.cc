#include "operator/resources/child.h"
#include "operator/resources/names.h"
#include "operator/resources/role_pod.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

constexpr api::Role kRole = api::Role::kPartitioner;
constexpr std::chrono::seconds kGrace{30};  // it gives up within 10 s; what it wrote is of no use to anybody

}  // namespace

// The operator counts attempts, and tells a bad document from a lost node: the Job controller starts no second pod.
Json PartitionJob(const Context& context) {
  const int64_t attempt = context.status.partition_attempt;
  const std::string& name = context.training.meta.key.name;
  const Json pod = RolePod(context, kRole, "espalier-partitioner")
                       .Document(ConfigName(name))
                       .ObjectStorage()
                       .Cache()
                       .ThreadsByProcessorLimit()
                       .Argument("--job=$(ESPALIER_JOB)")  // it reads no variables but these
                       .Argument("--output=" + Literal(PartitionsPrefix(context.training)))
                       .Argument("--threads=$(ESPALIER_THREADS)")
                       .Argument("--json")
                       .Label(kAttemptLabel, std::to_string(attempt))
                       .Field("restartPolicy", "Never")
                       .GracePeriod(kGrace)
                       .Template();
  Json job = ChildOf(context, kube::kJobs, PartitionJobName(name, attempt), api::NameOf(kRole),
                     InputsOf(context, kRole).Add("attempt", attempt));
  job["metadata"]["labels"][kAttemptLabel] = std::to_string(attempt);
  job["spec"] = {{"completions", 1}, {"parallelism", 1}, {"backoffLimit", 0}, {"template", pod}};
  return job;
}

}  // namespace espalier::ctl::resources
