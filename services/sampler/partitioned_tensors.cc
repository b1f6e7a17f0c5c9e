#include "services/sampler/partitioned_tensors.h"

#include <random>
#include <utility>

#include "services/base/hash.h"
#include "services/sampler/partition_fan_out.h"
#include "services/sampler/reduction_parts.h"
#include "services/sampler/row_routing.h"

namespace espalier::sampler {
namespace {

// What is left behind by a failed call is dropped for this long, whatever is left of the call's own time.
constexpr std::chrono::seconds kCleanUp{10};

uint64_t RandomNumber() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

std::vector<PartitionId> PartitionsFrom(uint32_t first, size_t end) {
  std::vector<PartitionId> all;
  for (uint32_t p = first; p < end; ++p) all.push_back(PartitionId(p));
  return all;
}

Status CheckFits(const TensorSpec& spec, const TensorDescription& found) {
  if (found.dtype == spec.dtype && found.row_shape == spec.row_shape) return Status();
  return AlreadyExists("tensor '" + spec.id.name + "' exists with another element type or shape");
}

}  // namespace

PartitionedTensors::PartitionedTensors(const graph::PartitionBook& book,
                                       const std::vector<std::shared_ptr<PartitionAccess>>& partitions,
                                       BufferPool& row_buffers)
    : book_(book), partitions_(partitions), row_buffers_(row_buffers), client_(RandomNumber()) {
  for (const auto& partition : partitions_) answers_in_process_.push_back(partition->tensors().is_in_process());
}

uint64_t PartitionedTensors::NewCreation() {
  const uint64_t creation = HashCombine(client_, next_act_.fetch_add(1));
  return creation == 0 ? 1 : creation;  // 0 is nobody's
}

std::string PartitionedTensors::AnonymousName() {
  return "anonymous-" + HexOf(client_) + "-" + std::to_string(next_act_.fetch_add(1));
}

Result<TensorDescription> PartitionedTensors::CreateOn(uint32_t partition, const TensorSpec& spec, uint64_t creation,
                                                       Deadline deadline) {
  const auto fan_out =
      std::make_shared<PartitionFanOut<TensorDescription>>(std::vector<PartitionId>{PartitionId(partition)}, nullptr);
  partitions_[partition]->tensors().Create(spec, creation, deadline, fan_out->Slot(0));
  ASSIGN_OR_RETURN(std::vector<TensorDescription> found, fan_out->Wait(deadline));
  RETURN_IF_ERROR(CheckFits(spec, found[0]));
  return std::move(found[0]);
}

// The other partitions, once the first has decided whose tensor has the name. What they have of another one is what is
// left of one that the first has dropped.
Status PartitionedTensors::CreateElsewhere(const TensorSpec& spec, uint64_t creation, Deadline deadline) {
  std::vector<PartitionId> asked = PartitionsFrom(1, partitions_.size());
  for (int attempt = 0; !asked.empty(); ++attempt) {
    const auto fan_out = std::make_shared<PartitionFanOut<TensorDescription>>(asked, nullptr);
    for (size_t k = 0; k < asked.size(); ++k) {
      partitions_[asked[k].value]->tensors().Create(spec, creation, deadline, fan_out->Slot(k));
    }
    ASSIGN_OR_RETURN(const std::vector<TensorDescription> found, fan_out->Wait(deadline));
    std::vector<PartitionId> left_behind;
    for (size_t k = 0; k < asked.size(); ++k) {
      if (found[k].creation == creation) {
        RETURN_IF_ERROR(CheckFits(spec, found[k]));
        continue;
      }
      if (attempt > 0) return Aborted("tensor '" + spec.id.name + "' is created and dropped by others at this moment");
      RETURN_IF_ERROR(DropOn({asked[k]}, spec.id, found[k].creation, deadline));
      left_behind.push_back(asked[k]);
    }
    asked = std::move(left_behind);
  }
  return Status();
}

Result<TensorHandle> PartitionedTensors::Create(const TensorSpec& spec, Deadline deadline) {
  RETURN_IF_ERROR(CheckSpec(spec));
  RETURN_IF_ERROR(CheckRowSpace(spec.id.rows, book_));
  const uint64_t mine = NewCreation();
  ASSIGN_OR_RETURN(const TensorDescription decided, CreateOn(0, spec, mine, deadline));
  const Status created = CreateElsewhere(spec, decided.creation, deadline);
  if (!created.ok()) {
    if (decided.creation == mine) DropLater(spec.id, mine, Deadline::After(kCleanUp));
    return created;
  }
  return TensorHandle{spec.id, spec.dtype, spec.row_shape, decided.creation, decided.creation == mine};
}

Result<TensorHandle> PartitionedTensors::Find(const TensorId& tensor, Deadline deadline) {
  RETURN_IF_ERROR(CheckRowSpace(tensor.rows, book_));
  // The first partition decides whose tensor has a name.
  const auto fan_out =
      std::make_shared<PartitionFanOut<TensorDescription>>(std::vector<PartitionId>{PartitionId(0)}, nullptr);
  partitions_[0]->tensors().Describe(tensor, deadline, fan_out->Slot(0));
  ASSIGN_OR_RETURN(const std::vector<TensorDescription> found, fan_out->Wait(deadline));
  return TensorHandle{tensor, found[0].dtype, found[0].row_shape, found[0].creation, false};
}

Status PartitionedTensors::DropOn(const std::vector<PartitionId>& partitions, const TensorId& tensor, uint64_t creation,
                                  Deadline deadline) {
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(partitions, nullptr);
  for (size_t k = 0; k < partitions.size(); ++k) {
    partitions_[partitions[k].value]->tensors().Drop(tensor, creation, deadline, fan_out->StatusSlot(k));
  }
  return fan_out->Wait(deadline).status();
}

Status PartitionedTensors::Drop(const TensorId& tensor, uint64_t creation, Deadline deadline) {
  RETURN_IF_ERROR(CheckRowSpace(tensor.rows, book_));
  // The first partition first: whoever creates the name anew asks it before the others.
  RETURN_IF_ERROR(DropOn({PartitionId(0)}, tensor, creation, deadline));
  return DropOn(PartitionsFrom(1, partitions_.size()), tensor, creation, deadline);
}

void PartitionedTensors::DropLater(const TensorId& tensor, uint64_t creation, Deadline deadline) {
  // The answer may come when this object has gone.
  std::vector<std::shared_ptr<PartitionAccess>> others(partitions_.begin() + 1, partitions_.end());
  partitions_[0]->tensors().Drop(tensor, creation, deadline,
                                 [others = std::move(others), tensor, creation, deadline](const Status&) {
                                   for (const auto& other : others) {
                                     other->tensors().Drop(tensor, creation, deadline, [](const Status&) {});
                                   }
                                 });
}

Status PartitionedTensors::CheckRows(const RowSpace& space, const std::vector<uint64_t>& first,
                                     std::span<const GlobalRowId> rows) const {
  if (rows.size() > std::numeric_limits<uint32_t>::max()) return ResourceExhausted("a request has 2^32 rows or more");
  for (const GlobalRowId row : rows) {
    if (row.value < first.back()) continue;
    return InvalidArgument("row " + std::to_string(row.value) + " of " + NameOf(space, book_) + ", which has " +
                           std::to_string(first.back()));
  }
  return Status();
}

Result<Tensor> PartitionedTensors::Read(const TensorHandle& tensor, std::span<const GlobalRowId> rows,
                                        Deadline deadline) {
  const std::vector<uint64_t> first = FirstRows(tensor.id.rows, book_);
  RETURN_IF_ERROR(CheckRows(tensor.id.rows, first, rows));
  std::vector<int64_t> shape = ShapeOfRows(rows.size(), tensor.row_shape);
  RETURN_IF_ERROR(CheckedElementCount(shape, SizeOf(tensor.dtype)).status());
  const size_t row_bytes = RowBytes(tensor.dtype, tensor.row_shape);
  const std::shared_ptr<GatherPlan<LocalRowId>> plan =
      PlanGather(RouteToOwners(first, rows), rows.size(), answers_in_process_);
  plan->rows = row_buffers_.Take(rows.size() * row_bytes);
  const std::vector<PartitionId> asked = AskedPartitions(plan->locals);
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(asked, plan);
  for (size_t k = 0; k < asked.size(); ++k) {
    const uint32_t p = asked[k].value;
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
  if (values.dtype() != tensor.dtype || values.shape() != ShapeOfRows(rows.size(), tensor.row_shape)) {
    return InvalidArgument("writing " + values.ToString() + " to " + std::to_string(rows.size()) + " rows of '" +
                           tensor.id.name + "'");
  }
  RETURN_IF_ERROR(CheckWrite(write, tensor.dtype));
  RowRoute route = RouteToOwners(first, rows);
  std::vector<Tensor> parts = SplitRows(values, route);
  const std::vector<PartitionId> asked = AskedPartitions(route.locals);
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(asked, nullptr);
  for (size_t k = 0; k < asked.size(); ++k) {
    const uint32_t p = asked[k].value;
    partitions_[p]->tensors().Write(tensor.id, write, std::move(route.locals[p]), std::move(parts[p]), deadline,
                                    fan_out->StatusSlot(k));
  }
  return fan_out->Wait(deadline).status();
}

Status PartitionedTensors::Combine(const TensorHandle& into, RowWrite write, const TensorHandle& from,
                                   Deadline deadline) {
  if (into.id.rows != from.id.rows || into.dtype != from.dtype || into.row_shape != from.row_shape) {
    return InvalidArgument("tensors '" + into.id.name + "' and '" + from.id.name + "' differ in rows, dtype or shape");
  }
  RETURN_IF_ERROR(CheckWrite(write, into.dtype));
  const std::vector<PartitionId> asked = PartitionsFrom(0, partitions_.size());
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(asked, nullptr);
  for (size_t p = 0; p < asked.size(); ++p) {
    partitions_[p]->tensors().Combine(into.id, write, from.id.name, deadline, fan_out->StatusSlot(p));
  }
  return fan_out->Wait(deadline).status();
}

Result<Tensor> PartitionedTensors::Reduce(const TensorHandle& tensor, Reduction reduction, Deadline deadline) {
  const std::vector<uint64_t> first = FirstRows(tensor.id.rows, book_);
  std::vector<PartitionId> asked;
  for (uint32_t p = 0; p < partitions_.size(); ++p) {
    if (first[p] < first[p + 1]) asked.push_back(PartitionId(p));
  }
  // One is asked even so: it knows whether the tensor exists.
  if (asked.empty()) asked.push_back(PartitionId(0));
  const auto fan_out = std::make_shared<PartitionFanOut<Tensor>>(asked, nullptr);
  for (size_t k = 0; k < asked.size(); ++k) {
    partitions_[asked[k].value]->tensors().Reduce(tensor.id, reduction, deadline, fan_out->Slot(k));
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> parts, fan_out->Wait(deadline));
  return ReducedOfParts(reduction, tensor.dtype, tensor.row_shape, parts);
}

}  // namespace espalier::sampler
