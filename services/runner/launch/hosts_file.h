// Parses the file with the machines of a job, one per line, in DGL's ip_config format.
//
//   # comments and blank lines are ignored
//   10.0.0.1 30050
//   10.0.0.2            # no port: 30050
//   fd00::3 0           # 0: any free port
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::launch {

constexpr uint16_t kDefaultServerPort = 30050;  // DGL's default

struct Host {
  std::string name;  // address or host name: passed to ssh, and resolved on this machine (ResolveAddress)
  // Port of the host's first graph server; the host's other servers use the next ports. 0: any free ports.
  uint16_t port = kDefaultServerPort;
  friend bool operator==(const Host&, const Host&) = default;
};

// Parses the text. InvalidArgument lists the errors, one per line: "hosts.txt:3: port '99999': expected 0 to 65535".
// `file_name` is only used in errors.
Result<std::vector<Host>> ParseHosts(const std::string& file_name, const std::string& text);
// Reads and parses the file. Errors: those of reading it and of ParseHosts.
Result<std::vector<Host>> ReadHostsFile(const std::string& path);

// Resolves `name` on this machine and returns the first numeric address. NotFound if it cannot be resolved.
Result<std::string> ResolveAddress(const std::string& name);

}  // namespace espalier::launch
