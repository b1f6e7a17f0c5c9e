#include "services/sampler/access/row_source.h"

#include <cstring>

namespace espalier::sampler {

Status RowSource::GatherRowsTo(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                               std::span<const uint32_t> places, std::shared_ptr<std::byte> out, Deadline deadline) {
  ASSIGN_OR_RETURN(const Tensor rows, GatherRows(type, column, nodes, deadline));
  const size_t row_bytes = rows.row_bytes();
  for (size_t i = 0; i < places.size(); ++i) {
    std::memcpy(out.get() + places[i] * row_bytes, rows.bytes() + i * row_bytes, row_bytes);
  }
  return Status();
}

bool RowSource::is_remote(PartitionId) const { return false; }

}  // namespace espalier::sampler
