// What espalier-trainer is told: flags, each with an environment variable, and the job's document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "services/daemon/tls_flags.h"
#include "services/job/parse.h"

namespace espalier::trainer {

struct TrainerFlags {
  std::string job_file;
  std::vector<std::string> servers;
  std::string partitions_uri;         // in place of servers: opened in this process, the only trainer
  std::string data_dir;               // of copies of such partitions' files; empty: the user's cache
  uint64_t cache_bytes = 0;           // most bytes of them; 0: no limit
  std::vector<std::string> samplers;  // empty: threads of this process draw the mini-batches
  std::string access = "auto";
  uint32_t rank = 0;
  uint32_t world_size = 1;
  std::string rendezvous = "127.0.0.1:0";
  std::string local_address;        // empty: the one that faces the rendezvous
  std::string collective = "auto";  // or "ring", which is the same
  std::string ring_listen;          // empty: local_address, and for rank 0 the port of the rendezvous
  bool insecure_listen_any = false;
  daemon::TlsFlags tls;
  std::string output_uri;  // of the job's prefix; empty: nothing is written
  std::string audit_path;
  std::string checkpoints;      // URI of the folder of checkpoints; empty: none are written
  std::string resume = "auto";  // "auto", "never", or a URI that replaces spec.checkpoint.resumeFrom
  std::string admin_listen = "127.0.0.1:0";
  std::string ready_file;
  std::string log_format = "auto";
  std::string job_name;  // by which servers know the job; empty: the document's name
  uint64_t incarnation = 1;
  std::string job_uid;  // of the DistTraining on a cluster: /status repeats it; empty elsewhere
  int threads = 0;      // 0: as the document says
  int sampler_threads = 1;
  int connect_seconds = 120;
  int data_timeout_seconds = 600;
  int collective_timeout_seconds = 660;
};

void AddTrainerFlags(CLI::App& app, TrainerFlags* flags);

// InvalidArgument where flags contradict each other, or nothing says where the graph is.
Status CheckTrainerFlags(const TrainerFlags& flags);

Result<job::ParsedJob> ReadJob(const std::string& path);

}  // namespace espalier::trainer
