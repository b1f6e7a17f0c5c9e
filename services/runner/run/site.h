// The machine that a child runs on: the paths, addresses and numbers of threads for its command line.
#pragma once

#include <cstdint>
#include <string>

#include "services/runner/run/run_paths.h"

namespace espalier::run {

struct Site {
  RunPaths paths;                   // the run's files on the machine
  std::string program_folder;       // folder of the role binaries on the machine
  std::string host = "127.0.0.1";   // numeric address at which peers connect
  uint16_t port = 0;                // port on which the child listens when first started; 0: any free port
  uint16_t rendezvous_port = 0;     // rendezvous port of a program's rank 0; 0: chosen when it starts
  uint32_t local_rank = 0;          // rank of a trainer among the trainers on the machine
  unsigned server_threads = 2;      // threads of a graph server
  int partitioner_threads = 0;      // threads of a partitioner; 0: PartitionerPeers::threads (commands.h)
  std::string partitions_uri = {};  // where graph servers read partitions; empty before Fleet::ProvidePartitions
  std::string working_folder = {};  // working directory of a user's program; empty: that of this process
  // Connections to other machines are not encrypted. Set only if the user has disabled TLS explicitly.
  bool plaintext_to_others = false;

  bool is_loopback() const { return host == "127.0.0.1"; }
};

}  // namespace espalier::run
