// Ranges of addresses in the notation of pdsh and Slurm: "cora-server-0-[0-2643].cora.ml.svc:7000". They keep long
// lists within an environment variable, which holds at most 128 KiB.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::rpc {

inline constexpr size_t kMaxAddresses = 65536;

inline constexpr char kAddressSeparator = '|';  // between the addresses of replicas

// Returns the addresses in order, each range expanded. An address may have one range of decimal numbers without leading
// zeros; the brackets of an IPv6 literal are not a range. Addresses that are joined by kAddressSeparator stay joined,
// number by number: "a-[0-1]:1|b-[0-1]:1" is "a-0:1|b-0:1" and "a-1:1|b-1:1". InvalidArgument: a range whose end is
// below its begin, joined ranges of different lengths, or more than kMaxAddresses in total.
Result<std::vector<std::string>> ExpandAddresses(const std::vector<std::string>& addresses);

// Splits "a:1|b:1" into "a:1" and "b:1".
std::vector<std::string> SplitAddresses(const std::string& joined);

}  // namespace espalier::rpc
