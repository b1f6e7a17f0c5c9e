// The machine that a child runs on, as its command line must know it.
#pragma once

#include <cstdint>
#include <string>

#include "services/runner/run/run_paths.h"

namespace espalier::run {

struct Site {
  RunPaths paths;                   // of the run's files there
  std::string program_folder;       // of the role binaries there
  std::string host = "127.0.0.1";   // numeric address at which the others reach it
  uint16_t port = 0;                // where the child listens when it begins; 0: the kernel picks
  uint16_t rendezvous_port = 0;     // of a program's rank 0 there; 0: picked when it starts
  uint32_t local_rank = 0;          // of a rank among those on its machine
  unsigned server_threads = 2;      // of a graph server there
  int partitioner_threads = 0;      // of a partitioner there; 0: its share of the machine of the command
  std::string partitions_uri = {};  // where its graph servers read; empty before BringPartitions
  std::string working_folder = {};  // of a user's program there; empty: where the run was started
  // Peers are on other machines and nothing is encrypted: only where somebody asked for it by name.
  bool plaintext_to_others = false;

  bool is_loopback() const { return host == "127.0.0.1"; }
};

}  // namespace espalier::run
