// Which program with which flags: each child's command line as a value.
#pragma once

#include <string>
#include <vector>

#include "services/job/dist_training.h"
#include "services/job/runs_on.h"
#include "services/process/child_process.h"
#include "services/runner/run/role.h"
#include "services/runner/run/site.h"

namespace espalier::run {

// What `espalier run` was asked for beyond the document.
struct RoleOptions {
  std::string program_folder;   // of the role binaries on this machine
  std::string access = "auto";  // mapped, rpc or auto
  bool audit = false;
  // Of the user's, with its arguments, in place of trainers; empty: what the document says (spec.trainers.program), and
  // where that says nothing trainers.
  std::vector<std::string> program = {};
  bool program_is_documents = false;  // the command did not name it
  std::string script_folder = {};     // of the document's script, on the ranks' machines; empty: the run puts it there

  bool has_program() const { return !program.empty(); }
  // A program brings its own training.
  job::SpecTraining spec_training() const {
    return has_program() ? job::SpecTraining::kOptional : job::SpecTraining::kUnlessProgram;
  }
};

// What differs between the lives of one child.
struct Life {
  uint64_t incarnation = 1;
  std::string address;  // where its clients look for it since an earlier life; empty: any port
};

// Several partitioners find each other in the store, by the name of their group.
struct PartitionerPeers {
  uint32_t rank = 0;
  uint32_t size = 1;
  std::string group = {};  // of no group before; where there are several
  int threads = 0;         // 0: as many as the machine has processors
};
process::ChildSpec PartitionerCommand(const Site& site, const RoleOptions& options, const std::string& partitions_uri,
                                      const PartitionerPeers& peers);
// Of server `server` by number (server_numbering.h).
process::ChildSpec ServerCommand(const Site& site, const job::DistTraining& job, uint32_t server, const Life& life);
process::ChildSpec SamplerCommand(const Site& site, const RoleOptions& options, const job::DistTraining& job,
                                  uint32_t index, const std::vector<std::string>& servers, const Life& life);

struct TrainerPeers {
  std::vector<std::string> servers;  // by partition
  std::vector<std::string> samplers;
  // host:port where ranks meet: rank 0 of trainers publishes it; programs get it as MASTER_ADDR and MASTER_PORT.
  std::string rendezvous;
};
// It goes on from the newest checkpoint below the job's prefix, where there is one.
process::ChildSpec TrainerCommand(const Site& site, const RoleOptions& options, const job::DistTraining& job,
                                  uint32_t rank, const TrainerPeers& peers, uint64_t incarnation);

// What a user's program is told besides its peers.
struct ProgramLife {
  uint64_t incarnation = 1;
  std::string partition_key;
  bool goes_on = false;  // from what an earlier incarnation, or an earlier run, has saved
};
// A rank of the user's program, told everything by environment variables (docs/programs.md).
process::ChildSpec ProgramCommand(const Site& site, const RoleOptions& options, const job::DistTraining& job,
                                  uint32_t rank, const TrainerPeers& peers, const ProgramLife& life);

}  // namespace espalier::run
