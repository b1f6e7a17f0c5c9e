// Identity of the machine that this process runs on.
#pragma once

#include <string>

namespace espalier::rpc {

// Returns the boot id of the kernel: equal for all processes of a machine, also in containers, and different on other
// machines and after a reboot. Empty if it cannot be read.
std::string ThisMachine();

}  // namespace espalier::rpc
