// The file that names the machines of a job: one a line, DGL's ip_config format.
//
//   # comments and blank lines are left out
//   10.0.0.1 30050
//   10.0.0.2            the port is 30050 where none is given
//   fd00::3 0           0: a free one
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::launch {

constexpr uint16_t kDefaultServerPort = 30050;  // DGL's

struct Host {
  std::string name;                    // as ssh gets it: an address, a name, or a Host of the user's ssh_config
  uint16_t port = kDefaultServerPort;  // of the host's first graph server; the others take the next ones. 0: free ones
  friend bool operator==(const Host&, const Host&) = default;
};

// All errors at once, one a line: "hosts.txt:3: port '99999': expected 0 to 65535". `file_name` is for them.
Result<std::vector<Host>> ParseHosts(const std::string& file_name, const std::string& text);
Result<std::vector<Host>> ReadHostsFile(const std::string& path);

// The numeric address that `name` stands for on this machine. NotFound where nobody knows the name.
Result<std::string> NumericAddress(const std::string& name);

}  // namespace espalier::launch
