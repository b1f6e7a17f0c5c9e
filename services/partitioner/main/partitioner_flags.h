// The command line of espalier-partitioner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "services/base/parallel.h"
#include "services/partitioner/checks/document_names.h"
#include "services/partitioner/group/process_group.h"
#include "services/partitioner/store_access.h"

namespace espalier::partitioner {

// The values of the flags; the help texts in AddPartitionerFlags describe them.
struct PartitionerFlags {
  std::string job_path;
  std::vector<std::string> overrides;
  std::string output_uri;
  std::string mappings_folder;
  CacheFlags cache;
  std::string admin_listen = "127.0.0.1:0";
  std::string ready_file;  // empty: none
  std::string log_format = "auto";
  int threads = AvailableProcessors();
  GroupOptions group;
  int peer_timeout_seconds = 60;
  int start_timeout_seconds = 600;
  TrainedBy trained_by = TrainedBy::kEspalier;
  bool skip_start_file_checks = false;
  bool json = false;
};

// Adds description, examples and flags to `app`, which writes the parsed values to `flags`.
void AddPartitionerFlags(CLI::App* app, PartitionerFlags* flags);

// Returns the group of processes that the flags describe, or nullopt if there is only this process.
std::optional<GroupOptions> ToGroupOptions(const PartitionerFlags& flags);

}  // namespace espalier::partitioner
