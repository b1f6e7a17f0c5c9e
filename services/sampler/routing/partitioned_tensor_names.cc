// The functions of PartitionedTensors that create, find and drop tensors by name on all partitions, concurrently with
// other clients. Partition 0 decides which tensor has a name; the protocol is documented in
// proto/espalier/tensor/v1/tensor.proto.
#include <utility>

#include "services/base/hash.h"
#include "services/base/unique_number.h"
#include "services/sampler/access/state_name.h"
#include "services/sampler/routing/partition_fan_out.h"
#include "services/sampler/routing/partitioned_tensors.h"
#include "services/sampler/routing/retry_until_available.h"

namespace espalier::sampler {
namespace {

// Time limit of operations in the background.
constexpr std::chrono::seconds kInBackground{10};
// Number of rounds after which Create gives up, if other clients create and drop the tensor in each of them.
constexpr int kRounds = 4;

// Returns whether the server may have executed the request, or may still execute it, in spite of this error.
bool IsUncertain(const Status& status) {
  switch (status.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kCancelled:
    case StatusCode::kAborted: return true;
    default: return false;
  }
}

// Returns the key by which a tensor is found: its row space, without the number of own rows, and its name.
std::pair<RowSpace, std::string> NameKey(const TensorId& tensor) {
  RowSpace rows = tensor.rows;
  rows.num_own_rows = 0;
  return {rows, tensor.name};
}

// Returns text such as "F32 [16]".
std::string FormatRow(DType dtype, const std::vector<int64_t>& row_shape) {
  std::string text = ToString(dtype) + std::string(" [");
  for (size_t i = 0; i < row_shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(row_shape[i]);
  return text + "]";
}

// Returns AlreadyExists if the existing tensor has another dtype or row shape than the specification.
Status CheckFits(const TensorSpec& spec, const TensorDescription& found) {
  if (found.dtype == spec.dtype && found.row_shape == spec.row_shape) return Status();
  return AlreadyExists("tensor '" + spec.id.name + "' exists with rows " + FormatRow(found.dtype, found.row_shape) +
                       ", expected " + FormatRow(spec.dtype, spec.row_shape));
}

}  // namespace

PartitionedTensors::PartitionedTensors(const graph::PartitionBook& book,
                                       const std::vector<std::shared_ptr<PartitionAccess>>& partitions,
                                       BufferPool& row_buffers)
    : book_(book), partitions_(partitions), row_buffers_(row_buffers), client_(UniqueNumber()) {
  for (const auto& partition : partitions_) in_process_.push_back(partition->tensors().is_in_process());
}

PartitionedTensors::~PartitionedTensors() {
  MutexLock lock(&drops_->mutex);
  drops_->mutex.AwaitBefore(Deadline::After(kInBackground), [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(drops_->mutex) {
    return drops_->in_progress.empty();
  });
}

uint64_t PartitionedTensors::NewMaker() {
  const uint64_t maker = HashCombine(client_, next_number_.fetch_add(1));
  return maker == 0 ? 1 : maker;  // 0 means no maker
}

std::string PartitionedTensors::GenerateName() {
  return "anonymous-" + ToHex(client_) + "-" + std::to_string(next_number_.fetch_add(1));
}

std::vector<PartitionId> PartitionedTensors::OtherPartitions() const {
  std::vector<PartitionId> others;
  for (uint32_t p = 1; p < partitions_.size(); ++p) others.push_back(PartitionId(p));
  return others;
}

Result<TensorDescription> PartitionedTensors::DescribeAtFirstPartition(const TensorId& tensor, Deadline deadline) {
  const auto requested = std::make_shared<PartitionFanOut<TensorDescription>>(std::vector{PartitionId(0)}, nullptr);
  partitions_[0]->tensors().Describe(tensor, deadline, requested->Slot(0));
  ASSIGN_OR_RETURN(std::vector<TensorDescription> found, requested->Wait(deadline));
  return std::move(found[0]);
}

// Lets partition 0 reserve the name for this call or return the tensor that has the name. Waits while another client is
// creating that tensor.
Result<TensorDescription> PartitionedTensors::CreateAtFirstPartition(const TensorSpec& spec, Deadline deadline) {
  Result<std::vector<TensorDescription>> decided = RetryUntilAvailable(partitions_, deadline, [&] {
    const auto requested = std::make_shared<PartitionFanOut<TensorDescription>>(std::vector{PartitionId(0)}, nullptr);
    partitions_[0]->tensors().Create(spec, /*creation=*/0, deadline, requested->Slot(0));
    return requested->WaitForAll(deadline);
  });
  if (!decided.ok()) return std::move(decided).status();
  return std::move((*decided)[0]);
}

Status PartitionedTensors::CreateOnOtherPartitions(const TensorSpec& spec, uint64_t creation, Deadline deadline) {
  const std::vector<PartitionId> others = OtherPartitions();
  const auto make = [&] {
    const auto requested = std::make_shared<PartitionFanOut<TensorDescription>>(others, nullptr);
    for (size_t k = 0; k < others.size(); ++k) {
      partitions_[others[k].value]->tensors().Create(spec, creation, deadline, requested->Slot(k));
    }
    return requested->WaitForAll(deadline);
  };
  ASSIGN_OR_RETURN(const std::vector<TensorDescription> made, RetryUntilAvailable(partitions_, deadline, make));
  for (const TensorDescription& there : made) {
    if (there.creation != creation) return Aborted("tensor '" + spec.id.name + "' was dropped while it was created");
    RETURN_IF_ERROR(CheckFits(spec, there));
  }
  if (others.empty()) return Status();  // with a single partition, the tensor is complete
  TensorId id = spec.id;
  id.creation = creation;
  const auto completed = std::make_shared<PartitionFanOut<Nothing>>(std::vector{PartitionId(0)}, nullptr);
  partitions_[0]->tensors().Complete(id, deadline, completed->StatusSlot(0));
  return completed->WaitForAll(deadline).status();
}

Status PartitionedTensors::CheckOthersHave(const TensorId& tensor, Deadline deadline) {
  const std::vector<PartitionId> others = OtherPartitions();
  const auto requested = std::make_shared<PartitionFanOut<TensorDescription>>(others, nullptr);
  for (size_t k = 0; k < others.size(); ++k) {
    partitions_[others[k].value]->tensors().Describe(tensor, deadline, requested->Slot(k));
  }
  return requested->Wait(deadline).status();
}

// A complete tensor has a part on every server, so a server without its part has lost it. Returns NotFound then,
// because creating the part again would hide the loss.
Result<TensorHandle> PartitionedTensors::ToCompleteHandle(const TensorId& name, const TensorDescription& found,
                                                          Deadline deadline) {
  TensorHandle handle{name, found.dtype, found.row_shape, /*made_by_this=*/false};
  handle.id.creation = found.creation;
  if (name.rows.of == RowsOf::kOwn) handle.id.rows.num_own_rows = found.num_own_rows;
  Status others_have = CheckOthersHave(handle.id, deadline);
  if (others_have.ok()) return handle;
  if (others_have.code() != StatusCode::kNotFound) return others_have;
  const Result<TensorDescription> now = DescribeAtFirstPartition(handle.id, deadline);
  if (!now.ok())
    return now.status().code() == StatusCode::kNotFound ? Aborted("it was dropped during the call") : now.status();
  return NotFound("tensor '" + name.name + "' has lost rows (" + others_have.message() +
                  "); drop it by its name before you create it again");
}

Result<TensorHandle> PartitionedTensors::Create(const TensorSpec& wanted, Deadline deadline) {
  RETURN_IF_ERROR(CheckSpec(wanted));
  RETURN_IF_ERROR(CheckIsNotState(wanted.id.name));
  RETURN_IF_ERROR(CheckRowSpace(wanted.id.rows, book_));
  WaitForDrops(wanted.id, deadline);
  TensorSpec spec = wanted;
  Status last;
  for (int round = 0; round < kRounds; ++round) {
    spec.maker = NewMaker();
    const Result<TensorDescription> decided = CreateAtFirstPartition(spec, deadline);
    if (!decided.ok()) {
      if (IsUncertain(decided.status())) AbandonLater(spec, /*creation=*/0);
      return decided.status();
    }
    RETURN_IF_ERROR(CheckFits(spec, *decided));
    if (decided->maker != spec.maker) {
      Result<TensorHandle> found = ToCompleteHandle(spec.id, *decided, deadline);
      if (found.ok() || found.status().code() != StatusCode::kAborted) return found;
      last = found.status();
      continue;  // another client has dropped the tensor: try to create it again
    }
    last = CreateOnOtherPartitions(spec, decided->creation, deadline);
    if (last.ok()) {
      TensorHandle made{spec.id, spec.dtype, spec.row_shape, /*made_by_this=*/true};
      made.id.creation = decided->creation;
      return made;
    }
    AbandonLater(spec, decided->creation);
    return last;
  }
  return last.While("tensor '" + spec.id.name + "' is repeatedly created and dropped by other clients");
}

Result<TensorHandle> PartitionedTensors::Find(const TensorId& tensor, Deadline deadline) {
  RETURN_IF_ERROR(CheckRowSpace(tensor.rows, book_));
  ASSIGN_OR_RETURN(const TensorDescription found, DescribeAtFirstPartition(tensor, deadline));
  if (!found.is_complete) return NotFound("tensor '" + tensor.name + "' is being created by another client");
  Result<TensorHandle> complete = ToCompleteHandle(tensor, found, deadline);
  if (complete.status().code() != StatusCode::kAborted) return complete;
  return NotFound("tensor '" + tensor.name + "' was dropped by another client");
}

Status PartitionedTensors::DropOn(const std::vector<PartitionId>& partitions, const std::vector<TensorId>& tensors,
                                  Deadline deadline) {
  const auto requested = std::make_shared<PartitionFanOut<Nothing>>(partitions, nullptr);
  for (size_t k = 0; k < partitions.size(); ++k) {
    partitions_[partitions[k].value]->tensors().Drop(tensors[k], deadline, requested->StatusSlot(k));
  }
  return requested->WaitForAll(deadline).status();
}

Status PartitionedTensors::Drop(const TensorId& tensor, Deadline deadline) {
  RETURN_IF_ERROR(CheckRowSpace(tensor.rows, book_));
  // Partition 0 drops first. Rows on other partitions then belong to no tensor, even if their drop fails.
  RETURN_IF_ERROR(DropOn({PartitionId(0)}, {tensor}, deadline));
  if (partitions_.size() == 1) return Status();
  if (tensor.creation == 0) return DropUnlessOnFirst(tensor, deadline);
  return DropOn(OtherPartitions(), std::vector<TensorId>(partitions_.size() - 1, tensor), deadline);
}

// Drops, by name, the rows on the other partitions. Rows stay if partition 0 has their tensor, because another client
// has then created a tensor with this name again.
Status PartitionedTensors::DropUnlessOnFirst(const TensorId& name, Deadline deadline) {
  const std::vector<PartitionId> others = OtherPartitions();
  const auto requested = std::make_shared<PartitionFanOut<TensorDescription>>(others, nullptr);
  for (size_t k = 0; k < others.size(); ++k) {
    partitions_[others[k].value]->tensors().Describe(
        name, deadline, [answered = requested->Slot(k)](Result<TensorDescription> found) {
          const bool none = !found.ok() && found.status().code() == StatusCode::kNotFound;
          answered(none ? TensorDescription() : std::move(found));  // the empty description has creation number 0
        });
  }
  ASSIGN_OR_RETURN(const std::vector<TensorDescription> described, requested->Wait(deadline));
  const Result<TensorDescription> current = DescribeAtFirstPartition(name, deadline);
  if (!current.ok() && current.status().code() != StatusCode::kNotFound) return current.status();
  std::vector<PartitionId> holders;
  std::vector<TensorId> dropped;
  for (size_t k = 0; k < others.size(); ++k) {
    const uint64_t creation = described[k].creation;  // 0: the partition has no rows
    if (creation == 0 || (current.ok() && current->creation == creation)) continue;
    holders.push_back(others[k]);
    dropped.push_back(name);
    dropped.back().creation = creation;
  }
  return DropOn(holders, dropped, deadline);
}

std::shared_ptr<const void> PartitionedTensors::MarkDrop(const TensorId& tensor) {
  const auto name = NameKey(tensor);
  {
    MutexLock lock(&drops_->mutex);
    drops_->in_progress.insert(name);
  }
  return {nullptr, [drops = drops_, name](const void*) {
            MutexLock lock(&drops->mutex);
            drops->in_progress.erase(drops->in_progress.find(name));
          }};
}

void PartitionedTensors::WaitForDrops(const TensorId& tensor, Deadline deadline) {
  const auto name = NameKey(tensor);
  MutexLock lock(&drops_->mutex);
  drops_->mutex.AwaitBefore(
      deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(drops_->mutex) { return !drops_->in_progress.contains(name); });
}

void PartitionedTensors::DropLater(const TensorId& tensor) {
  // The response may arrive after this object is destroyed.
  std::vector<std::shared_ptr<PartitionAccess>> others(partitions_.begin() + 1, partitions_.end());
  const Deadline deadline = Deadline::After(kInBackground);
  partitions_[0]->tensors().Drop(
      tensor, deadline,
      [others = std::move(others), tensor, deadline, in_progress = MarkDrop(tensor)](const Status& dropped) {
        // After an error, partition 0 may still have the tensor, which then needs the rows of the others.
        if (!dropped.ok()) return;
        for (const auto& other : others) other->tensors().Drop(tensor, deadline, [in_progress](const Status&) {});
      });
}

void PartitionedTensors::AbandonLater(const TensorSpec& spec, uint64_t creation) {
  std::vector<std::shared_ptr<PartitionAccess>> others;
  if (creation != 0) others.assign(partitions_.begin() + 1, partitions_.end());
  const Deadline deadline = Deadline::After(kInBackground);
  TensorId tensor = spec.id;
  tensor.creation = creation;
  partitions_[0]->tensors().Abandon(
      tensor, spec.maker, deadline,
      [others = std::move(others), tensor, deadline, in_progress = MarkDrop(tensor)](const Status& abandoned) {
        // FailedPrecondition: the tensor is complete after all, and another client may have found it. After other
        // errors the outcome is unknown; then the rows stay until a tensor with the name is created again or the
        // incarnation ends.
        if (!abandoned.ok()) return;
        for (const auto& other : others) other->tensors().Drop(tensor, deadline, [in_progress](const Status&) {});
      });
}

}  // namespace espalier::sampler
