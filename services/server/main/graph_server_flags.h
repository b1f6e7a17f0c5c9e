// The command line of espalier-graph-server: flags, each with an environment variable except --no-mapping.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "services/daemon/service_process.h"
#include "services/server/graph_server.h"

namespace espalier::server {

// AddGraphServerFlags describes the fields in the help texts of their flags.
struct GraphServerFlags {
  std::string partitions_uri;
  uint32_t partition = 0;
  std::string job_name;
  uint64_t incarnation = 0;
  std::string data_dir;
  uint64_t cache_bytes = 0;
  int32_t max_fanout = ServiceLimits().max_fanout;
  uint64_t max_rows = ServiceLimits().max_rows;
  int max_streams = rpc::ServerOptions().max_concurrent_streams;
  bool no_mapping = false;
  std::vector<std::string> plugins;
  daemon::ProcessOptions process;
};

// Declares the flags; `flags` outlives the parsing of `app`.
void AddGraphServerFlags(CLI::App& app, GraphServerFlags* flags);

}  // namespace espalier::server
