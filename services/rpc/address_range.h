// Many addresses in few characters: "cora-server-0-[0-2643].cora.ml.svc:7000", as the hosts of a cluster are written
// for pdsh and Slurm. A variable of the environment holds 128 KiB at most.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::rpc {

inline constexpr size_t kMaxAddresses = 65536;

// Each address, or each of its range, in order. An address may have one range, of decimal numbers without leading
// zeros; the brackets of an IPv6 literal are none. InvalidArgument: a range that goes backwards, more than
// kMaxAddresses in all.
Result<std::vector<std::string>> ExpandAddresses(const std::vector<std::string>& addresses);

}  // namespace espalier::rpc
