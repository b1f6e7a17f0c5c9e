// Rows of mutable tensors: routes reads, writes and reductions to the owners of the rows.
#include "services/sampler/routing/partitioned_tensors.h"

#include <utility>

#include "services/sampler/routing/partition_fan_out.h"
#include "services/sampler/routing/reduction_parts.h"
#include "services/sampler/routing/row_routing.h"

namespace espalier::sampler {
namespace {

std::vector<PartitionId> ListAllPartitions(size_t num_partitions) {
  std::vector<PartitionId> all;
  for (uint32_t p = 0; p < num_partitions; ++p) all.push_back(PartitionId(p));
  return all;
}

// Returns the partitions with rows. If there are no rows, returns partition 0, which then checks whether the tensor
// exists.
std::vector<PartitionId> FindPartitionsToReduce(const std::vector<uint64_t>& first) {
  std::vector<PartitionId> requested;
  for (uint32_t p = 0; p + 1 < first.size(); ++p) {
    if (first[p] < first[p + 1]) requested.push_back(PartitionId(p));
  }
  if (requested.empty()) requested.push_back(PartitionId(0));
  return requested;
}

}  // namespace

Status PartitionedTensors::CheckRows(const RowSpace& space, const std::vector<uint64_t>& first,
                                     std::span<const GlobalRowId> rows) const {
  if (rows.size() > std::numeric_limits<uint32_t>::max()) return ResourceExhausted("a request has 2^32 rows or more");
  for (const GlobalRowId row : rows) {
    if (row.value < first.back()) continue;
    return InvalidArgument("row " + std::to_string(row.value) + " of " + ToString(space, book_) +
                           " does not exist; there are " + std::to_string(first.back()));
  }
  return Status();
}

Result<Tensor> PartitionedTensors::Read(const TensorHandle& tensor, std::span<const GlobalRowId> rows,
                                        Deadline deadline) {
  const std::vector<uint64_t> first = FirstRows(tensor.id.rows, book_);
  RETURN_IF_ERROR(CheckRows(tensor.id.rows, first, rows));
  std::vector<int64_t> shape = MakeRowsShape(rows.size(), tensor.row_shape);
  RETURN_IF_ERROR(CheckedElementCount(shape, ItemSize(tensor.dtype)).status());
  const size_t row_bytes = RowBytes(tensor.dtype, tensor.row_shape);
  const std::shared_ptr<GatherPlan<LocalRowId>> plan = PlanGather(RouteToOwners(first, rows), rows.size(), in_process_);
  plan->rows = row_buffers_.Take(rows.size() * row_bytes);
  const std::vector<PartitionId> requested = FindRequestedPartitions(plan->locals);
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(requested, plan);
  for (size_t k = 0; k < requested.size(); ++k) {
    const uint32_t p = requested[k].value;
    const RowSink sink{.out = plan->rows.get(), .row_bytes = row_bytes, .positions = plan->positions[p]};
    partitions_[p]->tensors().Read(tensor.id, plan->locals[p], sink, deadline, fan_out->StatusSlot(k));
  }
  RETURN_IF_ERROR(fan_out->Wait(deadline).status());
  plan->CopyRepeats(row_bytes);
  return Tensor::Wrap(tensor.dtype, std::move(shape), plan->rows.get(), plan->rows);
}

Status PartitionedTensors::Write(const TensorHandle& tensor, RowWrite write, std::span<const GlobalRowId> rows,
                                 const Tensor& values, Deadline deadline) {
  const std::vector<uint64_t> first = FirstRows(tensor.id.rows, book_);
  RETURN_IF_ERROR(CheckRows(tensor.id.rows, first, rows));
  if (values.dtype() != tensor.dtype || values.shape() != MakeRowsShape(rows.size(), tensor.row_shape)) {
    const Tensor expected =
        Tensor::Wrap(tensor.dtype, MakeRowsShape(rows.size(), tensor.row_shape), /*data=*/nullptr, nullptr);
    return InvalidArgument("writing " + values.ToString() + " to " + std::to_string(rows.size()) + " rows of '" +
                           tensor.id.name + "', expected " + expected.ToString());
  }
  RETURN_IF_ERROR(CheckWrite(write, tensor.dtype));
  RowRoute route = RouteToOwners(first, rows);
  std::vector<Tensor> parts = SplitRows(values, route);
  const std::vector<PartitionId> requested = FindRequestedPartitions(route.locals);
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(requested, nullptr);
  for (size_t k = 0; k < requested.size(); ++k) {
    const uint32_t p = requested[k].value;
    partitions_[p]->tensors().Write(tensor.id, write, std::move(route.locals[p]), std::move(parts[p]), deadline,
                                    fan_out->StatusSlot(k));
  }
  return fan_out->WaitForAll(deadline).status();
}

Status PartitionedTensors::Combine(const TensorHandle& into, RowWrite write, const TensorHandle& from,
                                   Deadline deadline) {
  if (into.id.rows != from.id.rows || into.dtype != from.dtype || into.row_shape != from.row_shape) {
    return InvalidArgument("tensors '" + into.id.name + "' and '" + from.id.name + "' differ in rows, dtype or shape");
  }
  RETURN_IF_ERROR(CheckWrite(write, into.dtype));
  const std::vector<PartitionId> requested = ListAllPartitions(partitions_.size());
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(requested, nullptr);
  for (size_t p = 0; p < requested.size(); ++p) {
    partitions_[p]->tensors().Combine(into.id, write, from.id, deadline, fan_out->StatusSlot(p));
  }
  return fan_out->WaitForAll(deadline).status();
}

Result<std::vector<Tensor>> PartitionedTensors::ReadParts(const TensorHandle& tensor, Reduction reduction,
                                                          const std::vector<PartitionId>& requested,
                                                          Deadline deadline) {
  const auto fan_out = std::make_shared<PartitionFanOut<Tensor>>(requested, nullptr);
  for (size_t k = 0; k < requested.size(); ++k) {
    partitions_[requested[k].value]->tensors().Reduce(tensor.id, reduction, deadline, fan_out->Slot(k));
  }
  return fan_out->Wait(deadline);
}

Result<Tensor> PartitionedTensors::Reduce(const TensorHandle& tensor, Reduction reduction, Deadline deadline) {
  const std::vector<PartitionId> requested = FindPartitionsToReduce(FirstRows(tensor.id.rows, book_));
  ASSIGN_OR_RETURN(const std::vector<Tensor> parts, ReadParts(tensor, reduction, requested, deadline));
  return CombineReductionParts(reduction, tensor.dtype, tensor.row_shape, parts);
}

Result<std::vector<uint64_t>> PartitionedTensors::CountNonzeroByPartition(const TensorHandle& tensor,
                                                                          Deadline deadline) {
  constexpr Reduction kCount = Reduction::kCountNonzero;
  const std::vector<PartitionId> requested = FindPartitionsToReduce(FirstRows(tensor.id.rows, book_));
  ASSIGN_OR_RETURN(const std::vector<Tensor> parts, ReadParts(tensor, kCount, requested, deadline));
  std::vector<uint64_t> counts(partitions_.size());
  for (size_t k = 0; k < requested.size(); ++k) {
    RETURN_IF_ERROR(CheckReductionPart(kCount, tensor.dtype, tensor.row_shape, parts[k]));
    for (const uint64_t count : parts[k].values<uint64_t>()) counts[requested[k].value] += count;
  }
  return counts;
}

}  // namespace espalier::sampler
