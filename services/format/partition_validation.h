// What a reader of a partition relies on, checked on tensors that come from a file: afterwards no id in them leads
// outside an array.
#pragma once

#include <map>
#include <string>

#include "services/base/tensor.h"
#include "services/format/manifest.h"

namespace espalier::format {

// The tensors of one file, each to be taken once under its name. Thread-compatible.
class TensorTable {
 public:
  explicit TensorTable(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}
  // DataLoss where there is none of that name.
  Result<Tensor> Take(const std::string& name);
  bool Has(const std::string& name) const { return tensors_.contains(name); }
  // DataLoss names a tensor that nobody took.
  Status CheckAllTaken() const;

 private:
  std::map<std::string, Tensor> tensors_;
};

// Each of these takes what belongs to one partition from its file. DataLoss names tensor, position, value and what
// was expected. `threads` share the scans; the violation named is the first one.
Status TakeGraph(const Manifest& manifest, PartitionId partition, int threads, TensorTable* file, graph::Partition* to);
Status TakeNodeColumns(const Manifest& manifest, PartitionId partition, int threads, TensorTable* file,
                       graph::Partition* to);
Status TakeEdgeColumns(const Manifest& manifest, PartitionId partition, int threads, TensorTable* file,
                       graph::Partition* to);
Status TakeOriginalEdgeIds(const Manifest& manifest, PartitionId partition, TensorTable* file, graph::Partition* to);

}  // namespace espalier::format
