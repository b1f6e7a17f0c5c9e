// Which program with which flags: each child's command line as a value.
#pragma once

#include <string>
#include <vector>

#include "services/apps/run/child_process.h"
#include "services/apps/run/run_folder.h"
#include "services/job/dist_training.h"

namespace espalier::run {

// What `espalier run` was asked for beyond the document.
struct RoleOptions {
  std::string program_folder;   // of the role binaries
  std::string access = "auto";  // mapped, rpc or auto
  bool audit = false;
};

// Children of a run are numbered from 0: "server-0" serves partition 0, "trainer-1" has rank 1.
std::string ChildName(const std::string& role, uint32_t index);

ChildSpec PartitionerCommand(const RunFolder& folder, const RoleOptions& options, const std::string& partitions_uri);
ChildSpec ServerCommand(const RunFolder& folder, const RoleOptions& options, const job::DistTraining& job,
                        const std::string& partition_uri, uint32_t partition);
ChildSpec SamplerCommand(const RunFolder& folder, const RoleOptions& options, uint32_t index,
                         const std::vector<std::string>& servers);

struct TrainerPeers {
  std::vector<std::string> servers;
  std::vector<std::string> samplers;
  std::string rendezvous;  // of rank 0; "127.0.0.1:0" for rank 0 itself
};
ChildSpec TrainerCommand(const RunFolder& folder, const RoleOptions& options, const job::DistTraining& job,
                         uint32_t rank, const TrainerPeers& peers);

}  // namespace espalier::run
