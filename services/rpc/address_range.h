// Many addresses in few characters: "cora-server-0-[0-2643].cora.ml.svc:7000", as the hosts of a cluster are written
// for pdsh and Slurm. A variable of the environment holds 128 KiB at most.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::rpc {

inline constexpr size_t kMaxAddresses = 65536;

inline constexpr char kAddressSeparator = '|';  // between addresses at which the same is found

// Each address, or each of its range, in order. An address may have one range, of decimal numbers without leading
// zeros; the brackets of an IPv6 literal are none. Several that are joined by kAddressSeparator stay joined, number by
// number: "a-[0-1]:1|b-[0-1]:1" is "a-0:1|b-0:1" and "a-1:1|b-1:1". InvalidArgument: a range that goes backwards,
// joined ranges of different lengths, more than kMaxAddresses in all.
Result<std::vector<std::string>> ExpandAddresses(const std::vector<std::string>& addresses);

// "a:1|b:1" as "a:1" and "b:1".
std::vector<std::string> SplitAddresses(const std::string& joined);

}  // namespace espalier::rpc
