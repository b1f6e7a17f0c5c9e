// The flags are registered in three groups: the graph, the group of trainers, and this trainer's own files and
// settings. CLI11 checks single values while it parses; CheckTrainerFlags checks addresses and combinations of flags.
#include "services/trainer/main/trainer_flags.h"

#include <limits>

#include "services/base/host_port.h"
#include "services/daemon/job_name_flag.h"

namespace espalier::trainer {
namespace {

void AddGraphFlags(CLI::App& app, TrainerFlags* flags) {
  app.add_option("--job", flags->job_file, "the job's document")->envname("ESPALIER_JOB")->required();
  app.add_option("--servers", flags->servers,
                 "host:port of each partition's graph server, separated by commas; host-[0-9]:port means ten servers; "
                 "replicas of a partition are joined by |")
      ->envname("ESPALIER_SERVERS")
      ->delimiter(',');
  app.add_option("--partitions", flags->partitions_uri,
                 "instead of --servers: URI of the folder with manifest.json; this process, the only trainer, opens "
                 "all partitions")
      ->envname("ESPALIER_PARTITIONS");
  app.add_option(
         "--data-dir", flags->data_dir,
         "with --partitions: folder for copies of files that cannot be mapped in place; default: the user's cache")
      ->envname("ESPALIER_DATA_DIR");
  app.add_option("--cache-size", flags->cache_bytes,
                 "maximum bytes of the files in --data-dir, e.g. 20GiB; 0: no limit")
      ->envname("ESPALIER_CACHE_SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->capture_default_str();
  app.add_option("--samplers", flags->samplers,
                 "host:port of each sampler, in the syntax of --servers; absent: threads of this process sample")
      ->envname("ESPALIER_SAMPLERS")
      ->delimiter(',');
  app.add_option("--access", flags->access,
                 "mapped: map the servers' files; rpc: send requests; auto: map files if possible")
      ->envname("ESPALIER_ACCESS")
      ->check(CLI::IsMember({"auto", "rpc", "mapped"}))
      ->capture_default_str();
  app.add_option("--job-uid", flags->job_uid, "the job's uid, shown in /status")->envname("ESPALIER_JOB_UID");
  daemon::AddJobNameFlag(app, &flags->job_name,
                         "the job's name at the graph servers, which separates its tensors from other jobs'; "
                         "default: the document's name");
  app.add_option("--incarnation", flags->incarnation,
                 "the job's incarnation; servers reject older incarnations of the job")
      ->envname("ESPALIER_INCARNATION")
      ->capture_default_str();
  app.add_option("--connect-seconds", flags->connect_seconds, "how long to wait for the servers")
      ->envname("ESPALIER_CONNECT_SECONDS")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option("--data-timeout-seconds", flags->data_timeout_seconds, "the longest wait for a mini-batch or rows")
      ->envname("ESPALIER_DATA_TIMEOUT_SECONDS")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
}

// Returns an empty string if the value is valid, otherwise an error message.
std::string CheckCollective(const std::string& value) {
  if (value == "auto" || value == "ring" || value == "nccl") return "";
  if (value == "gloo") {
    return "Gloo is no longer supported: omit --collective (ESPALIER_COLLECTIVE), so that trainers use NCCL if they "
           "have different GPUs of one host, else the ring";
  }
  return "expected auto, ring or nccl, found " + value;
}

void AddGroupFlags(CLI::App& app, TrainerFlags* flags) {
  app.add_option("--rank", flags->rank, "this trainer's number, from 0")
      ->envname("ESPALIER_RANK")
      ->capture_default_str();
  app.add_option("--trainers-per-pod", flags->trainers_per_pod,
                 "number of trainers of each pod; above 1, the rank is --pod-index times this number plus "
                 "--trainer-in-pod, in place of --rank")
      ->envname("ESPALIER_TRAINERS_PER_POD")
      ->check(CLI::Range(uint32_t{1}, job::kMaxContainersPerPod))
      ->capture_default_str();
  app.add_option("--pod-index", flags->pod_index, "number of this trainer's pod, from 0")
      ->envname("ESPALIER_POD_INDEX")
      ->check(CLI::Range(0u, 65535u))
      ->capture_default_str();
  app.add_option("--trainer-in-pod", flags->trainer_in_pod, "this trainer's number in its pod, from 0")
      ->envname("ESPALIER_TRAINER_IN_POD")
      ->capture_default_str();
  app.add_option("--world-size", flags->world_size, "number of trainers")
      ->envname("ESPALIER_WORLD_SIZE")
      ->check(CLI::Range(1u, 65536u))
      ->capture_default_str();
  app.add_option("--rendezvous", flags->rendezvous,
                 "host:port of the rendezvous; rank 0 listens there, port 0 selects a free port (see --ready-file)")
      ->envname("ESPALIER_RENDEZVOUS")
      ->capture_default_str();
  app.add_option("--local-address", flags->local_address,
                 "address of this machine for the all-reduce; absent: the address from which it reaches the rendezvous")
      ->envname("ESPALIER_LOCAL_ADDRESS");
  app.add_option(
         "--collective", flags->collective,
         "how trainers sum gradients; ring: over TCP; nccl: from GPU to GPU, in plaintext between hosts; auto: nccl "
         "if the trainers have different GPUs of one host, else ring")
      ->envname("ESPALIER_COLLECTIVE")
      ->check(CLI::Validator(CheckCollective, "{auto,ring,nccl}"))
      ->capture_default_str();
  app.add_option("--ring-listen", flags->ring_listen,
                 "host:port of this trainer in the ring; absent: --local-address, with the port of --rendezvous for "
                 "rank 0 and a free port for other ranks")
      ->envname("ESPALIER_RING_LISTEN");
  app.add_flag("--insecure-listen-any", flags->insecure_listen_any,
               "allow a rendezvous in plaintext on addresses that other machines can reach")
      ->envname("ESPALIER_INSECURE_LISTEN_ANY");
  daemon::AddTlsFlags(app, &flags->tls);
  app.add_option(
         "--collective-timeout-seconds", flags->collective_timeout_seconds,
         "the longest wait for other trainers; must exceed --data-timeout-seconds, because they may wait for data")
      ->envname("ESPALIER_COLLECTIVE_TIMEOUT_SECONDS")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
}

void AddOwnFlags(CLI::App& app, TrainerFlags* flags) {
  app.add_option("--output", flags->output_uri,
                 "URI of the folder for the outputs: model, results and manifest; absent: no outputs")
      ->envname("ESPALIER_OUTPUT");
  app.add_option("--shared-row-memory", flags->shared_row_memory,
                 "inherited descriptor of the memory in which trainers of this machine share feature rows (with "
                 "trainers.featureCache.sharedMemory); `espalier run` and `launch` pass it; absent: none")
      ->envname("ESPALIER_SHARED_ROW_MEMORY")
      ->check(CLI::Range(3, std::numeric_limits<int>::max()));
  app.add_option("--shared-row-file", flags->shared_row_file,
                 "instead of --shared-row-memory: file that the trainers of a pod create, with the size of "
                 "trainers.featureCache.sharedMemory, in a memory-backed file system; the operator passes it; absent: "
                 "none")
      ->envname("ESPALIER_SHARED_ROW_FILE");
  app.add_option("--audit", flags->audit_path, "file for the audit record of the sampled mini-batches; absent: none")
      ->envname("ESPALIER_AUDIT");
  app.add_option("--checkpoints", flags->checkpoints, "URI of the folder of the run's checkpoints; absent: none")
      ->envname("ESPALIER_CHECKPOINTS");
  app.add_option("--resume", flags->resume,
                 "auto: resume from the newest good checkpoint under --checkpoints, else from "
                 "spec.checkpoint.resumeFrom; never: start over; a URI: replaces resumeFrom")
      ->envname("ESPALIER_RESUME")
      ->capture_default_str();
  app.add_option("--threads", flags->threads, "threads of the math library; 0: spec.trainers.threads")
      ->envname("ESPALIER_THREADS")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--sampler-threads", flags->sampler_threads,
                 "threads that sample mini-batches if --samplers is absent")
      ->envname("ESPALIER_SAMPLER_THREADS")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--admin-listen", flags->admin_listen, "host:port of /metrics, /livez, /readyz and /status")
      ->envname("ESPALIER_ADMIN_LISTEN")
      ->capture_default_str();
  app.add_option("--ready-file", flags->ready_file,
                 "file to write {\"pid\", \"adminAddress\", \"rendezvous\"} to once other processes may connect")
      ->envname("ESPALIER_READY_FILE");
  app.add_option("--log-format", flags->log_format, "text, json, or auto (text on a terminal)")
      ->envname("ESPALIER_LOG_FORMAT")
      ->capture_default_str();
}

}  // namespace

void AddTrainerFlags(CLI::App& app, TrainerFlags* flags) {
  AddGraphFlags(app, flags);
  AddGroupFlags(app, flags);
  AddOwnFlags(app, flags);
}

namespace {

Status CheckGraphLocation(const TrainerFlags& flags) {
  if (flags.servers.empty() == flags.partitions_uri.empty()) {
    return InvalidArgument(std::string("--servers and --partitions are ") + (flags.servers.empty() ? "not" : "both") +
                           " given: expected one of them");
  }
  if (flags.servers.empty() && (flags.world_size > 1 || !flags.samplers.empty())) {
    return InvalidArgument(std::string("--partitions opens the graph for this process alone: leave out ") +
                           (flags.world_size > 1 ? "--world-size" : "--samplers") + ", or start graph servers");
  }
  return Status();
}

}  // namespace

void SetRankInPod(TrainerFlags* flags) {
  if (flags->trainers_per_pod > 1) flags->rank = flags->pod_index * flags->trainers_per_pod + flags->trainer_in_pod;
}

Status CheckTrainerFlags(const TrainerFlags& flags) {
  RETURN_IF_ERROR(CheckGraphLocation(flags));
  if (flags.shared_row_memory.has_value() && !flags.shared_row_file.empty()) {
    return InvalidArgument("--shared-row-memory and --shared-row-file are both given: expected at most one of them");
  }
  if (flags.trainer_in_pod >= flags.trainers_per_pod) {
    return InvalidArgument("--trainer-in-pod " + std::to_string(flags.trainer_in_pod) +
                           ": expected a number below --trainers-per-pod " + std::to_string(flags.trainers_per_pod));
  }
  if (flags.rank >= flags.world_size) {
    return InvalidArgument("--rank " + std::to_string(flags.rank) + ": expected a number below --world-size " +
                           std::to_string(flags.world_size));
  }
  if (flags.collective_timeout_seconds <= flags.data_timeout_seconds) {
    return InvalidArgument(
        "--collective-timeout-seconds must exceed --data-timeout-seconds: trainers wait for each "
        "other while one of them waits for data");
  }
  RETURN_IF_ERROR(ParseHostPort(flags.admin_listen).status().While("--admin-listen"));
  ASSIGN_OR_RETURN(const HostPort rendezvous, ParseHostPort(flags.rendezvous).While("--rendezvous"));
  RETURN_IF_ERROR(daemon::CheckTlsFlags(flags.tls));
  const bool is_plaintext = !flags.tls.any() && !flags.insecure_listen_any && flags.world_size > 1;
  if (is_plaintext && !IsLoopback(rendezvous.host)) {
    return FailedPrecondition("--rendezvous " + flags.rendezvous +
                              " lets other machines connect without encryption: set --tls-ca, --tls-certificate and "
                              "--tls-key, or allow it with --insecure-listen-any");
  }
  if (rendezvous.port == 0 && flags.rank > 0) {
    return InvalidArgument("--rendezvous " + flags.rendezvous + ": expected the port that rank 0 listens on");
  }
  return Status();
}

}  // namespace espalier::trainer
