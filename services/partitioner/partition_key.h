// The name of a partitioning by what goes into it: equal keys mean equal bytes, so the same input is not
// partitioned twice.
#pragma once

#include <string>

#include "services/partitioner/partition_plan.h"

namespace espalier::partitioner {

struct PartitionKeyInput {
  std::string source_digest;      // of the source's bytes
  std::string assignment_digest;  // of External's, else empty
  std::string nonce;              // for reuse: Never; else empty
  int algorithm_version = 0;
};

// 64 hexadecimal digits: SHA-256 of the source's digest, the options that change the result, and the versions of
// algorithm and format. Threads, places and names are left out, and so is what the algorithm does not look at.
std::string PartitionKey(const job::Graph& graph, const PartitionContext& context, const PartitionKeyInput& input);

}  // namespace espalier::partitioner
