// Validates the tensors of partition files, so that no id in a validated tensor is out of the range of the array that
// it indexes.
#pragma once

#include <map>
#include <string>

#include "services/base/tensor.h"
#include "services/format/partition/manifest.h"

namespace espalier::format {

// The tensors of one file. Each tensor is taken once, by name. Thread-compatible.
class TensorTable {
 public:
  explicit TensorTable(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}
  // Removes and returns the tensor `name`. Returns DataLoss if there is none.
  Result<Tensor> Take(const std::string& name);
  bool Has(const std::string& name) const { return tensors_.contains(name); }
  // Returns DataLoss, which names a tensor, if any tensor has not been taken.
  Status CheckAllTaken() const;

 private:
  std::map<std::string, Tensor> tensors_;
};

// Each of the following functions takes all tensors of one file of a partition, validates them and stores them in `to`.
// They return DataLoss, which names the tensor, the position and value of the first violation, and the expected value.
// Arrays are scanned by up to `threads` threads. TakeGraph must come before TakeNodeColumns, because it resizes
// to->nodes; the caller resizes to->edge_columns and to->original_edge_ids to the number of edge types.
Status TakeGraph(const Manifest& manifest, PartitionId partition, int threads, TensorTable* file, graph::Partition* to);
Status TakeNodeColumns(const Manifest& manifest, PartitionId partition, int threads, TensorTable* file,
                       graph::Partition* to);
Status TakeEdgeColumns(const Manifest& manifest, PartitionId partition, int threads, TensorTable* file,
                       graph::Partition* to);
Status TakeOriginalEdgeIds(const Manifest& manifest, PartitionId partition, TensorTable* file, graph::Partition* to);

}  // namespace espalier::format
