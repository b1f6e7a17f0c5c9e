#include "services/rpc/machine.h"

#include <fstream>

namespace espalier::rpc {

std::string ThisMachine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot_id;
  std::getline(file, boot_id);
  return boot_id;
}

}  // namespace espalier::rpc
