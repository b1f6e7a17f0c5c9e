// The configuration of espalier-trainer: flags, each with an environment variable, and the job's document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "services/daemon/tls_flags.h"
#include "services/job/parsing/parse.h"

namespace espalier::trainer {

struct TrainerFlags {
  std::string job_file;
  std::vector<std::string> servers;
  std::string partitions_uri;         // instead of `servers`: URI of the partitions, which this process opens
  std::string data_dir;               // folder for copies of the partitions' files; empty: the user's cache
  uint64_t cache_bytes = 0;           // limit for these copies in bytes; 0: no limit
  std::vector<std::string> samplers;  // empty: threads of this process sample the mini-batches
  std::string access = "auto";        // or "rpc" or "mapped": how this process reads the servers' partitions
  uint32_t rank = 0;
  uint32_t pod_index = 0;
  uint32_t trainers_per_pod = 1;  // above 1: SetRankInPod computes `rank`
  uint32_t trainer_in_pod = 0;
  uint32_t world_size = 1;
  std::string rendezvous = "127.0.0.1:0";
  // Address at which other ranks reach this rank; empty: the host on which it listens (ring_listen).
  std::string local_address;
  std::string collective = "auto";  // or "ring" or "nccl"; see TrainerGroup::Connect
  // host:port on which this rank listens for other ranks. Empty: rank 0 listens on the port of the rendezvous, another
  // rank on a free port. The host is then local_address. But if that is empty or the host of the rendezvous is a
  // loopback address, rank 0 listens on the host of the rendezvous, and another rank on the address from which it
  // reaches the rendezvous.
  std::string ring_listen;
  bool insecure_listen_any = false;
  daemon::TlsFlags tls;
  std::string output_uri;       // URI of the folder for outputs; empty: nothing is written
  std::string audit_path;       // empty: no audit record
  std::string checkpoints;      // URI of the folder of checkpoints; empty: no checkpoints are written
  std::string resume = "auto";  // "auto", "never", or a URI that replaces spec.checkpoint.resumeFrom
  std::string admin_listen = "127.0.0.1:0";
  std::string ready_file;
  std::string log_format = "auto";
  std::string job_name;  // the job's name at graph servers; empty: the document's name
  uint64_t incarnation = 1;
  std::string job_uid;  // of the DistTraining on a cluster, shown by /status; empty elsewhere
  int threads = 0;      // of the math library; 0: spec.trainers.threads
  int sampler_threads = 1;
  int connect_seconds = 120;
  int data_timeout_seconds = 600;
  int collective_timeout_seconds = 660;
  std::optional<int> shared_row_memory;  // descriptor of SharedMemory for feature rows; nullopt: none
  std::string shared_row_file;           // file of such memory; empty: none
};

void AddTrainerFlags(CLI::App& app, TrainerFlags* flags);

// Sets `rank` from the numbers of the pod and of the trainer in the pod, if a pod has several trainers. Call it after
// parsing. The ranks of a pod are consecutive.
void SetRankInPod(TrainerFlags* flags);

// Checks the flags. InvalidArgument: an address is invalid, flags contradict each other, or neither --servers nor
// --partitions is given. FailedPrecondition: the rendezvous would accept plaintext connections from other machines, and
// --insecure-listen-any is not set.
Status CheckTrainerFlags(const TrainerFlags& flags);

}  // namespace espalier::trainer
