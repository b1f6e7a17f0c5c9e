// The command line of espalier-sampler: flags, each with an environment variable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "services/daemon/service_process.h"

namespace espalier::server {

// AddSamplerFlags describes the fields in the help texts of their flags.
struct SamplerFlags {
  std::string job_file;
  std::vector<std::string> servers;
  std::string access = "auto";
  std::string job_name;  // empty: the job document's name
  std::optional<uint64_t> incarnation;
  int connect_seconds = 120;
  daemon::ProcessOptions process;
};

// Declares the flags; `flags` outlives the parsing of `app`.
void AddSamplerFlags(CLI::App& app, SamplerFlags* flags);

}  // namespace espalier::server
