// Fixture of conformance tests for tensors, with shards in this process and with servers over gRPC, each with 1, 2 and
// 3 partitions.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "services/client/tensors/dist_tensor.h"
#include "services/client/testing/served_graph.h"

namespace espalier::client::testing {

struct Reached {
  const char* how;  // "Local", "Served"
  uint32_t num_partitions;
};

inline std::vector<GlobalRowId> RowRange(uint64_t first, uint64_t last) {
  std::vector<GlobalRowId> rows;
  for (uint64_t row = first; row < last; ++row) rows.emplace_back(row);
  return rows;
}

// Original id of each global row of a space of nodes or edges.
inline std::vector<uint64_t> ListOriginalIds(const shard::testing::TestGraph& graph, const RowSpace& space) {
  std::vector<uint64_t> originals;
  for (const auto& shard : graph.shards) {
    const graph::Partition& data = shard->data();
    const Tensor& ids =
        space.of == sampler::RowsOf::kNodes ? data.nodes[space.type].original_ids : data.original_edge_ids[space.type];
    for (int64_t i = 0; i < ids.num_elements(); ++i) originals.push_back(static_cast<uint64_t>(ids.ValueAsInt(i)));
  }
  return originals;
}

class TensorsEverywhere : public ::testing::TestWithParam<Reached> {
 protected:
  explicit TensorsEverywhere(const ServedGraphOptions& options = {})
      : served_(SmallTypedGraph(), GetParam().num_partitions, options), graph_(OpenAnother()) {}

  // Opens the same graph as another program.
  std::unique_ptr<DistGraph> OpenAnother(std::chrono::seconds call_timeout = std::chrono::seconds(60)) const {
    Context context;
    context.call_timeout = call_timeout;
    if (GetParam().how == std::string("Local")) {
      // Owned by the test; outlives the graph.
      const std::shared_ptr<sampler::PartitionedGraph> local(&served_.local_graph(), [](auto*) {});
      return std::make_unique<DistGraph>("local", local, context);
    }
    context.session.addresses = served_.addresses();
    context.session.access = Access::kRpc;
    context.session.reply_bytes_per_call = 1000;  // many pieces
    auto graph = DistGraph::Open(context);
    ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
    return *std::move(graph);
  }

  DistTensor Make(const DistTensorOptions& options) const {
    auto tensor = DistTensor::Create(*graph_, options);
    ESPALIER_CHECK(tensor.ok()) << tensor.status().ToString();
    return *std::move(tensor);
  }
  static Tensor All(const DistTensor& tensor) {
    auto rows = tensor.ReadRows(RowRange(0, tensor.num_rows()));
    ESPALIER_CHECK(rows.ok()) << rows.status().ToString();
    return *std::move(rows);
  }
  const std::vector<RowSpace>& Spaces() const {
    static const std::vector<RowSpace> spaces = {RowSpace::Nodes(NodeTypeId(0)), RowSpace::Nodes(NodeTypeId(1)),
                                                 RowSpace::Edges(EdgeTypeId(0)), RowSpace::Edges(EdgeTypeId(1)),
                                                 RowSpace::Own(1001)};
    return spaces;
  }

  ServedGraph served_;
  const std::unique_ptr<DistGraph> graph_;
};

inline const auto kEverywhere = ::testing::Values(Reached{"Local", 1}, Reached{"Local", 2}, Reached{"Local", 3},
                                                  Reached{"Served", 1}, Reached{"Served", 2}, Reached{"Served", 3});
inline std::string NameOfReached(const ::testing::TestParamInfo<Reached>& info) {
  return info.param.how + std::to_string(info.param.num_partitions);
}

}  // namespace espalier::client::testing
