// The partition key, a hash of everything that the content of a partitioning depends on. Equal keys mean equal content,
// so the same input is not partitioned twice.
#pragma once

#include <string>

#include "services/partitioner/partition_plan.h"

namespace espalier::partitioner {

struct PartitionKeyInput {
  std::string source_digest;      // of the content of the source (format::SourceDigest)
  std::string assignment_digest;  // of the user's assignment for External; empty for other algorithms
  std::string nonce;              // for `reuse: Never`: makes the key unique; empty otherwise
  int algorithm_version = 0;      // Partitioner::version()
};

// Returns 64 hexadecimal digits: the SHA-256 of the digests, the nonce, the options that change the partitions or the
// quality figures in the manifest, and the versions of the algorithm and the format. Excludes numbers of threads, URIs,
// the job's name, and the seed, objective or assignment if the algorithm does not use it.
std::string PartitionKey(const job::Graph& graph, const PartitionContext& context, const PartitionKeyInput& input);

}  // namespace espalier::partitioner
