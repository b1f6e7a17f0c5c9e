// A partition on its way from files to clients.
#pragma once

#include <memory>
#include <string>

#include "services/format/manifest.h"
#include "services/server/graph_service.h"
#include "services/shard/graph_shard.h"

namespace espalier::serving {

// What a manifest says about a graph, as clients are told.
sampler::GraphDescription DescriptionOf(const format::Manifest& manifest);

struct LoadedPartition {
  format::Manifest manifest;
  std::shared_ptr<shard::GraphShard> shard;
};

// Maps and verifies partition `partition` of the partitioning at `uri`. OutOfRange where it has fewer partitions.
Result<LoadedPartition> LoadServedPartition(const std::string& uri, uint32_t partition, const std::string& data_dir,
                                            int threads);

}  // namespace espalier::serving
