// Ranges of addresses in the notation of pdsh and Slurm: "cora-server-0-[0-2643].cora.ml.svc:7000". They make long
// lists fit into an environment variable, which holds at most 128 KiB.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::rpc {

inline constexpr size_t kMaxAddresses = 65536;

inline constexpr char kAddressSeparator = '|';  // joins the addresses of replicas

// Returns the addresses in order, each range expanded. An address may have one range of decimal numbers without leading
// zeros; the brackets of an IPv6 literal are not a range. Addresses that are joined by kAddressSeparator are expanded
// together: "a-[0-1]:1|b-[0-1]:1" becomes "a-0:1|b-0:1" and "a-1:1|b-1:1". InvalidArgument: a range ends below its
// start, joined addresses expand to different numbers of addresses, or there are more than kMaxAddresses addresses in
// total.
Result<std::vector<std::string>> ExpandAddresses(const std::vector<std::string>& addresses);

// Splits "a:1|b:1" into "a:1" and "b:1".
std::vector<std::string> SplitAddresses(const std::string& joined);

}  // namespace espalier::rpc
