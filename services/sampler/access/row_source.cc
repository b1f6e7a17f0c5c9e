#include "services/sampler/access/row_source.h"

#include <cstring>

#include "services/graph/feature_scales.h"

namespace espalier::sampler {

Status RowSource::GatherRowsToPlaces(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                                     std::span<const uint32_t> places, std::shared_ptr<std::byte> out,
                                     Deadline deadline) {
  ASSIGN_OR_RETURN(const Tensor rows, GatherRows(type, column, nodes, deadline));
  const size_t row_bytes = rows.row_bytes();
  for (size_t i = 0; i < places.size(); ++i) {
    std::memcpy(out.get() + places[i] * row_bytes, rows.bytes() + i * row_bytes, row_bytes);
  }
  return Status();
}

bool RowSource::is_remote(PartitionId) const { return false; }

std::span<const float> FindScales(const RowSource& rows, NodeTypeId type, const std::string& column) {
  for (const ColumnDescription& description : rows.columns()) {
    if (description.node_type == type && description.name == column) return description.scales;
  }
  return {};
}

Result<Tensor> GatherValues(RowSource& rows, NodeTypeId type, const std::string& column,
                            std::span<const GlobalNodeId> nodes, Deadline deadline, int threads) {
  ASSIGN_OR_RETURN(Tensor gathered, rows.GatherRows(type, column, nodes, deadline));
  const std::span<const float> scales = FindScales(rows, type, column);
  if (scales.empty()) return gathered;
  return graph::WidenIntegers(gathered, scales, threads);
}

}  // namespace espalier::sampler
