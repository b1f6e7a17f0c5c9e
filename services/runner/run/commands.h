// Builds the command line and environment of each child.
#pragma once

#include <string>
#include <vector>

#include "services/job/dist_training.h"
#include "services/job/read_by.h"
#include "services/process/child_process.h"
#include "services/runner/run/role.h"
#include "services/runner/run/site.h"

namespace espalier::run {

// Options of the command line that concern the roles' processes.
struct RoleOptions {
  std::string program_folder;   // folder of the role binaries on this machine
  std::string access = "auto";  // --access: mapped, rpc or auto
  bool audit = false;           // --audit: trainers record their samples
  // The user's program with its arguments, which runs instead of the trainers. If the command line has none, the
  // program of the document (spec.trainers.program) is used; if that is missing too, the trainers run.
  std::vector<std::string> program = {};
  bool program_is_from_document = false;  // `program` was taken from the document
  // Folder of the document's script on the ranks' machines, absolute or relative to Site::working_folder; empty:
  // RunPaths::ScriptFolder().
  std::string script_folder = {};

  bool has_program() const { return !program.empty(); }
  // spec.training is optional with a program, which defines its own training.
  job::SpecTraining spec_training() const {
    return has_program() ? job::SpecTraining::kOptional : job::SpecTraining::kUnlessProgram;
  }
};

// What differs between a child's first process and those that replace it.
struct Life {
  uint64_t incarnation = 1;
  // Address at which the process listens: that of the child's earlier process, because clients keep using it. Empty if
  // no earlier process was ready: the process then listens on Site::port.
  std::string address;
};

// The group of a partitioner. Its members find each other through objects below the URI of the partitions, by the name
// of the group.
struct PartitionerPeers {
  uint32_t rank = 0;
  uint32_t size = 1;
  std::string group = {};  // unique name; empty if size is 1
  int threads = 0;         // used if Site::partitioner_threads is 0; 0: the number of the machine's processors
};

// Returns the command of a partitioner. Here and below, paths and addresses are those of `site`.
process::ChildSpec PartitionerCommand(const Site& site, const RoleOptions& options, const std::string& partitions_uri,
                                      const PartitionerPeers& peers);
// Returns the command of server number `server` (server_numbering.h).
process::ChildSpec ServerCommand(const Site& site, const job::DistTraining& job, uint32_t server, const Life& life);
// Returns the command of sampler `index`. `servers`: as TrainerPeers::servers.
process::ChildSpec SamplerCommand(const Site& site, const RoleOptions& options, const job::DistTraining& job,
                                  uint32_t index, const std::vector<std::string>& servers, const Life& life);

struct TrainerPeers {
  std::vector<std::string> servers;  // by partition (AddressesByPartition)
  std::vector<std::string> samplers;
  // host:port of the rendezvous of the ranks. The built-in trainer of rank 0 chooses the address and reports it. For a
  // program, the caller chooses it, and the ranks get it as MASTER_ADDR and MASTER_PORT.
  std::string rendezvous;
};
// Returns the command of trainer `rank`, which resumes from the newest checkpoint below the job's output.uri, if there
// is one.
process::ChildSpec TrainerCommand(const Site& site, const RoleOptions& options, const job::DistTraining& job,
                                  uint32_t rank, const TrainerPeers& peers, uint64_t incarnation);

// The configuration of a user's program in addition to the addresses of its peers.
struct ProgramLife {
  uint64_t incarnation = 1;
  std::string partition_key;
  bool resumes = false;  // whether to resume from what an earlier incarnation or an earlier run saved
};
// Returns the command of one rank of the user's program, which gets its configuration as environment variables
// (docs/programs.md).
process::ChildSpec ProgramCommand(const Site& site, const RoleOptions& options, const job::DistTraining& job,
                                  uint32_t rank, const TrainerPeers& peers, const ProgramLife& life);

}  // namespace espalier::run
