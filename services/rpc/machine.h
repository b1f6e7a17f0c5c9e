// Which machine this process runs on.
#pragma once

#include <string>

namespace espalier::rpc {

// A name that processes of one machine (of one kernel: containers of a node, too) have in common and those of others
// do not; it changes when the machine is started anew. Empty where the kernel does not tell.
std::string ThisMachine();

}  // namespace espalier::rpc
