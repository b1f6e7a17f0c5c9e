// Readers for TakeShare (split_shares.h), for the inputs of NodeSplit and EdgeSplit that are not named splits: lists of
// ids, and masks. A mask is read in several queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/client/tensors/dist_tensor.h"
#include "services/sampler/access/tensor_spec.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {

// Reads a list of ids in memory. Id is GlobalNodeId or GlobalEdgeId. The ids must outlive the reader.
template <class Id>
class IdReader {
 public:
  explicit IdReader(std::span<const Id> ids) : ids_(ids) {}

  template <class Take>
  Status Read(const sampler::PositionRange& range, Take take) const {
    for (const Id id : ids_.subspan(range.first, range.size())) take(id);
    return Status();
  }

 private:
  const std::span<const Id> ids_;
};

// Reads the ids whose mask value is not 0, in the order of global ids. Global ids are ordered by partition, so a range
// of positions is read without the mask rows of earlier partitions. The mask must have passed CheckMask; it and the
// graph must outlive the reader.
template <class Id>
class MaskReader {
 public:
  // Lets the servers count the ids of each partition. A query reads at most `rows_per_request` (> 0) mask rows.
  static Result<MaskReader> Make(const DistGraph& graph, const DistTensor& mask, uint64_t rows_per_request) {
    ASSIGN_OR_RETURN(const std::vector<uint64_t> counts, mask.CountNonzeroByPartition(graph.CallDeadline()));
    std::vector<uint64_t> positions = {0};
    for (const uint64_t count : counts) positions.push_back(positions.back() + count);
    return MaskReader(graph, mask, rows_per_request, sampler::FirstRows(mask.rows(), graph.book()),
                      std::move(positions));
  }

  uint64_t total() const { return positions_.back(); }  // number of ids
  // [partitions + 1]: entry p is the position of the first id of partition p; the last entry is the total.
  const std::vector<uint64_t>& positions_by_partition() const { return positions_; }

  template <class Take>
  Status Read(const sampler::PositionRange& range, Take take) const {
    for (size_t p = 0; p + 1 < positions_.size(); ++p) {
      const uint64_t first = std::max(range.first, positions_[p]), last = std::min(range.last, positions_[p + 1]);
      if (first < last) RETURN_IF_ERROR(ReadPartition(p, {first, last}, take));
    }
    return Status();
  }

 private:
  MaskReader(const DistGraph& graph, const DistTensor& mask, uint64_t rows_per_request,
             std::vector<uint64_t> first_rows, std::vector<uint64_t> positions)
      : graph_(graph),
        mask_(mask),
        rows_per_request_(rows_per_request),
        first_rows_(std::move(first_rows)),
        positions_(std::move(positions)) {}

  // Reads the ids at the positions `range`, which must not be empty and must lie in partition p. FailedPrecondition:
  // the partition has fewer ids than were counted.
  template <class Take>
  Status ReadPartition(size_t p, const sampler::PositionRange& range, Take& take) const {
    uint64_t position = positions_[p];  // position of the next row that is not 0
    std::vector<GlobalRowId> rows;
    for (uint64_t first = first_rows_[p]; first < first_rows_[p + 1]; first += rows.size()) {
      rows.clear();
      const uint64_t last = first + std::min(rows_per_request_, first_rows_[p + 1] - first);
      for (uint64_t row = first; row < last; ++row) rows.emplace_back(row);
      ASSIGN_OR_RETURN(const Tensor values, mask_.ReadRows(rows, graph_.CallDeadline()));
      const std::span<const std::byte> bytes = values.byte_span();  // one byte per row
      for (size_t i = 0; i < rows.size(); ++i) {
        if (bytes[i] == std::byte{0}) continue;
        if (position >= range.first) take(Id(rows[i].value));
        if (++position == range.last) return Status();
      }
    }
    return FailedPrecondition("the mask '" + mask_.name() +
                              "' changed during the split: no process may write to it during the call");
  }

  const DistGraph& graph_;
  const DistTensor& mask_;
  const uint64_t rows_per_request_;
  std::vector<uint64_t> first_rows_;  // [partitions + 1]
  std::vector<uint64_t> positions_;   // [partitions + 1]
};

// Returns InvalidArgument unless the mask has dtype Bool or U8 and one value for each node or edge (`of`) of a type.
inline Status CheckMask(const DistTensor& mask, sampler::RowsOf of) {
  const std::string kind = of == sampler::RowsOf::kEdges ? "edge" : "node";
  const bool has_kind = mask.rows().of == of;
  const bool is_flat = mask.shape().size() == 1;
  if (has_kind && is_flat && (mask.dtype() == DType::kBool || mask.dtype() == DType::kU8)) return Status();
  return InvalidArgument("the mask '" + mask.name() + "' is a " + ToString(mask.dtype()) + " tensor of " +
                         (has_kind ? kind + "s" : "rows that are not " + kind + "s") + ", with " +
                         std::to_string(mask.shape().size()) + " dimensions; expected BOOL or U8, one value for each " +
                         kind + " of a type");
}

}  // namespace espalier::client
