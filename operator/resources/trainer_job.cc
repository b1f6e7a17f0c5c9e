// The Job of one incarnation of the trainers. Its pods run Espalier's trainer (EspalierTrainerPod) or the user's
// program (UserProgramPod). Environment variables give each trainer its rank, the number of trainers, the addresses of
// the other processes and its folders.
#include "operator/api/program_container.h"
#include "operator/resources/addresses.h"
#include "operator/resources/child.h"
#include "operator/resources/job_document.h"
#include "operator/resources/names.h"
#include "operator/resources/role_pod.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

constexpr api::Role kTrainerRole = api::Role::kTrainer;
// Time for the current step and the upload of the checkpoint. A trainer ends as soon as both are done.
constexpr std::chrono::seconds kTrainerGrace{300};

std::string ConfigMapName(const Context& context) {
  return TrainerConfigName(context.training.meta.key.name, context.status.incarnation);
}

std::string PodIndexField() { return "metadata.annotations['" + std::string(kCompletionIndexLabel) + "']"; }

// The thread counts are environment variables, because the math library reads them when it is loaded.
void AddThreadsAndSamplers(const Context& context, RolePod* pod) {
  const std::string threads = std::to_string(context.training.spec->job.trainer_threads);
  pod->Variable("OMP_NUM_THREADS", threads).Variable("MKL_NUM_THREADS", threads);
  const std::string samplers = SamplerAddresses(context);
  if (!samplers.empty()) pod->Variable("ESPALIER_SAMPLERS", samplers);
}

void AddGpusAndSharedMemory(const Context& context, RolePod* pod) {
  const job::DistTraining& job = context.training.spec->job;
  const bool has_gpus = job.trainer_gpus > 0, has_several = job.trainer_containers_per_pod > 1;
  const bool shares_rows = has_several && job::SharedRowBytes(job) > 0;
  if (has_gpus) pod->Gpus(job.trainer_gpus);
  // Workers of torch's DataLoader, and NCCL between several processes of a pod, exchange data in shared memory.
  if (shares_rows || (has_gpus && (job.program || has_several))) pod->SharedMemory();
  if (shares_rows) pod->Variable("ESPALIER_SHARED_ROW_FILE", "/dev/shm/espalier-rows");
}

// Kubernetes has no arithmetic in variables, so a trainer computes its rank from the numbers of its pod and container.
void AddRank(const Context& context, RolePod* pod) {
  const uint32_t trainers_per_pod = context.training.spec->job.trainer_containers_per_pod;
  if (trainers_per_pod == 1) {
    pod->VariableOfPod("ESPALIER_RANK", PodIndexField());
    return;
  }
  // An invalid rank: with an image that does not know the variables below, trainers fail, instead of all having the
  // same rank. Images that know these variables ignore ESPALIER_RANK.
  pod->Variable("ESPALIER_RANK", std::to_string(CountTrainers(context)))
      .VariableOfPod("ESPALIER_POD_INDEX", PodIndexField())
      .Variable("ESPALIER_TRAINERS_PER_POD", std::to_string(trainers_per_pod))
      .ContainerNumber("ESPALIER_TRAINER_IN_POD");
}

RolePod EspalierTrainerPod(const Context& context) {
  const std::string run = RunPrefix(context.training);
  RolePod pod(context, kTrainerRole, "espalier-trainer");
  pod.Document(ConfigMapName(context))
      .ObjectStorage()
      .Peers("trainer", kTrainerPort)
      .Graph()
      .Variable("ESPALIER_INCARNATION", std::to_string(context.status.incarnation))
      .Variable("ESPALIER_JOB_UID", context.training.meta.uid);  // reported by /status with the progress
  AddRank(context, &pod);
  pod.Variable("ESPALIER_WORLD_SIZE", std::to_string(CountTrainers(context)))
      .Variable("ESPALIER_RENDEZVOUS", RendezvousAddress(context))
      // All addresses, not rank 0's DNS name: rank 0 might not be able to resolve it yet.
      .Listen("ESPALIER_RING_LISTEN")
      .VariableOfPod("ESPALIER_LOCAL_ADDRESS", "status.podIP")
      .Variable("ESPALIER_OUTPUT", run)
      .Variable("ESPALIER_CHECKPOINTS", run + "/checkpoints");
  AddThreadsAndSamplers(context, &pod);
  AddGpusAndSharedMemory(context, &pod);
  return pod;
}

// Sets the same variables as `espalier run -- PROGRAM` (services/runner/run/commands.cc, docs/programs.md). The ports
// of the program are unknown, so the pod has no probes and is ready when it runs.
RolePod UserProgramPod(const Context& context, const job::Program& program) {
  const api::Status& status = context.status;
  RolePod pod(context, kTrainerRole, program);
  pod.Document(ConfigMapName(context))
      .ObjectStorage()
      .Transport()
      .Graph()
      .Variable("ESPALIER_PARTITION_KEY", status.partition ? status.partition->hash : "")
      .Variable("ESPALIER_INCARNATION", std::to_string(status.incarnation))
      .VariableOfPod("ESPALIER_RANK", PodIndexField())
      .Variable("ESPALIER_WORLD_SIZE", std::to_string(CountTrainers(context)))
      .VariableOfPod("ESPALIER_LOCAL_ADDRESS", "status.podIP")
      .Variable("ESPALIER_OUTPUT", RunPrefix(context.training))
      // The first incarnation has nothing to resume from: a job that is created again has another folder.
      .Variable("ESPALIER_RESUME", status.incarnation > 1 ? "auto" : "never")
      // Variables that torch.distributed.init_process_group reads, and LOCAL_RANK as torchrun sets it.
      .VariableOfPod("RANK", PodIndexField())
      .Variable("WORLD_SIZE", std::to_string(CountTrainers(context)))
      .Variable("LOCAL_RANK", "0")
      .Variable("MASTER_ADDR", Rank0Host(context))
      .Variable("MASTER_PORT", std::to_string(kTrainerPort));
  AddThreadsAndSamplers(context, &pod);
  AddGpusAndSharedMemory(context, &pod);
  if (program.script) pod.Script(*program.script);
  return pod;
}

}  // namespace

// A group of trainers that starts and ends together: with backoffLimit 0 the Job controller does not replace single
// pods.
Json TrainerJob(const Context& context) {
  const std::string& name = context.training.meta.key.name;
  const std::string incarnation = std::to_string(context.status.incarnation);
  const int64_t trainers = CountTrainers(context);
  const int64_t pods = CountTrainerPods(*context.training.spec, trainers);
  const std::optional<job::Program>& program = context.training.spec->job.program;
  RolePod pod = program ? UserProgramPod(context, *program) : EspalierTrainerPod(context);
  pod.Label(kIncarnationLabel, incarnation)
      .Field("subdomain", ServiceName(name))
      .Field("restartPolicy", "Never")
      .GracePeriod(kTrainerGrace);

  Inputs inputs = SelectInputs(context, kTrainerRole);
  inputs.Add("incarnation", context.status.incarnation)
      .Add("trainers", trainers)
      .Add("samplers", context.training.spec->job.sampler_replicas);
  if (program) inputs.Add("program", program->Words(api::kScriptFolder));
  Json job = MakeChild(context, kube::kJobs, TrainerJobName(name, context.status.incarnation),
                       api::ToString(kTrainerRole), inputs);
  job["metadata"]["labels"][kIncarnationLabel] = incarnation;
  job["spec"] = {{"completionMode", "Indexed"},
                 {"completions", pods},
                 {"parallelism", pods},
                 {"backoffLimit", 0},
                 {"template", pod.Template()}};
  return job;
}

}  // namespace espalier::ctl::resources
