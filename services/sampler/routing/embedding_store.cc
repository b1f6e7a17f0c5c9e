// Rows are grouped by owner, and all affected partitions are called concurrently. PartitionFanOut waits for their
// responses, except for PushGradients, which does not wait: FirstError collects the responses and calls `done`. Restore
// and ReadState use PartitionedTensors, because each owner stores the values and the state as two tensors.
#include "services/sampler/routing/embedding_store.h"

#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/sampler/access/owner_route.h"
#include "services/sampler/routing/partition_fan_out.h"
#include "services/sampler/routing/retry_until_available.h"
#include "services/sampler/routing/row_routing.h"

namespace espalier::sampler {
namespace {

std::vector<PartitionId> ListPartitions(size_t count) {
  std::vector<PartitionId> all;
  for (uint32_t p = 0; p < count; ++p) all.push_back(PartitionId(p));
  return all;
}

// Returns a handle of the state tensor, which each partition creates together with the rows.
TensorHandle MakeStateHandle(const EmbeddingSpec& spec) {
  return {.id = ToStateId(spec.id), .row_shape = {static_cast<int64_t>(StateRowWidth(spec))}};
}

// Collects `count` statuses and calls `done` once: with the first error, or with OK after the last.
class FirstError {
 public:
  FirstError(size_t count, DoneStatus done) : missing_(count), done_(std::move(done)) {}

  // Returns the callback for one partition; errors name it.
  static DoneStatus Slot(std::shared_ptr<FirstError> all, PartitionId partition) {
    return [all = std::move(all), partition](Status status) {
      all->Put(status.ok() ? std::move(status)
                           : std::move(status).While("partition " + std::to_string(partition.value)));
    };
  }

 private:
  void Put(Status status) {
    DoneStatus call;
    {
      MutexLock lock(&mutex_);
      --missing_;
      if (done_ == nullptr || (status.ok() && missing_ > 0)) return;
      call = std::exchange(done_, nullptr);
    }
    call(std::move(status));
  }

  Mutex mutex_;
  size_t missing_ ABSL_GUARDED_BY(mutex_);
  DoneStatus done_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

PartitionedEmbeddings::PartitionedEmbeddings(PartitionedTensors& tensors,
                                             const std::vector<std::shared_ptr<PartitionAccess>>& partitions)
    : tensors_(tensors), book_(tensors.book()), partitions_(partitions) {}

Status PartitionedEmbeddings::CheckRows(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows) const {
  RETURN_IF_ERROR(CheckRowSpace(spec.id.rows, book_));
  if (rows.size() > UINT32_MAX) return ResourceExhausted("a request has 2^32 rows or more");
  const uint64_t num_rows = FirstRows(spec.id.rows, book_).back();
  for (const GlobalRowId row : rows) {
    if (row.value < num_rows) continue;
    return InvalidArgument("row " + std::to_string(row.value) + " of '" + spec.id.name +
                           "' does not exist; there are " + std::to_string(num_rows));
  }
  return Status();
}

Status PartitionedEmbeddings::CreateEmbedding(const EmbeddingSpec& spec, Deadline deadline) {
  RETURN_IF_ERROR(CheckRowSpace(spec.id.rows, book_));
  RETURN_IF_ERROR(CheckEmbedding(spec));
  const auto create = [&] {
    const auto fan_out =
        std::make_shared<PartitionFanOut<Nothing>>(ListPartitions(partitions_.size()), /*kept_alive=*/nullptr);
    for (size_t p = 0; p < partitions_.size(); ++p) {
      partitions_[p]->embeddings().Create(spec, deadline, fan_out->StatusSlot(p));
    }
    return fan_out->WaitForAll(deadline);
  };
  return RetryUntilAvailable(partitions_, deadline, create).status();
}

Status PartitionedEmbeddings::DropEmbedding(const TensorId& embedding, Deadline deadline) {
  const auto fan_out =
      std::make_shared<PartitionFanOut<Nothing>>(ListPartitions(partitions_.size()), /*kept_alive=*/nullptr);
  for (size_t p = 0; p < partitions_.size(); ++p) {
    partitions_[p]->embeddings().Drop(embedding, deadline, fan_out->StatusSlot(p));
  }
  return fan_out->Wait(deadline).status();
}

Result<Tensor> PartitionedEmbeddings::ReadEmbedding(const EmbeddingSpec& spec, uint64_t version,
                                                    std::span<const GlobalRowId> rows, Deadline deadline) {
  RETURN_IF_ERROR(CheckRows(spec, rows));
  std::vector<bool> in_process;
  for (const auto& partition : partitions_) in_process.push_back(partition->is_in_process());
  const auto plan = PlanGather(RouteToOwners(FirstRows(spec.id.rows, book_), rows), rows.size(), in_process);
  const size_t row_bytes = spec.width * ItemSize(spec.dtype);
  plan->rows = std::shared_ptr<std::byte>(new std::byte[rows.size() * row_bytes], std::default_delete<std::byte[]>());
  const std::vector<PartitionId> requested = FindRequestedPartitions(plan->locals);
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(requested, plan);
  for (size_t k = 0; k < requested.size(); ++k) {
    const uint32_t p = requested[k].value;
    partitions_[p]->embeddings().Read(spec.id, version, plan->locals[p],
                                      {plan->rows.get(), row_bytes, plan->positions[p]}, deadline,
                                      fan_out->StatusSlot(k));
  }
  RETURN_IF_ERROR(fan_out->Wait(deadline).status());
  plan->CopyRepeats(row_bytes);
  const std::byte* bytes = plan->rows.get();
  return Tensor::Wrap(spec.dtype, {static_cast<int64_t>(rows.size()), int64_t{spec.width}}, bytes, plan->rows);
}

void PartitionedEmbeddings::PushGradients(const EmbeddingSpec& spec, const StepOfTrainer& step,
                                          std::span<const GlobalRowId> rows, const Tensor& gradients, Deadline deadline,
                                          DoneStatus done) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(rows.size()), int64_t{spec.width}};
  Status valid = CheckRows(spec, rows);
  if (valid.ok() && (gradients.dtype() != DType::kF32 || gradients.shape() != shape)) {
    valid = InvalidArgument("gradients " + gradients.ToString() + " for " + std::to_string(rows.size()) +
                            " rows, expected F32 [" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + "]");
  }
  if (!valid.ok()) return done(valid);
  RowRoute route = RouteToOwners(FirstRows(spec.id.rows, book_), rows);
  std::vector<Tensor> parts = SplitRows(gradients, route);
  // SplitRows returns a single part if there are no rows, but every partition must receive a piece: an empty one marks
  // that this trainer has no gradients for the step.
  if (rows.empty()) parts.assign(partitions_.size(), gradients);
  const auto all = std::make_shared<FirstError>(partitions_.size(), std::move(done));
  for (uint32_t p = 0; p < partitions_.size(); ++p) {
    GradientPiece piece{.step = step.step, .rank = step.rank, .learning_rate = step.learning_rate};
    piece.rows = std::move(route.locals[p]);
    piece.gradients = std::move(parts[p]);
    partitions_[p]->embeddings().Push(spec.id, std::move(piece), deadline, FirstError::Slot(all, PartitionId(p)));
  }
}

Result<Tensor> PartitionedEmbeddings::ReadState(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows,
                                                Deadline deadline) {
  if (StateRowWidth(spec) == 0) return Tensor::Zeros(DType::kF32, {static_cast<int64_t>(rows.size()), 0});
  return tensors_.Read(MakeStateHandle(spec), rows, deadline);
}

Status PartitionedEmbeddings::Restore(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows,
                                      const Tensor& values, const Tensor& state, Deadline deadline) {
  const TensorHandle handle{.id = spec.id, .dtype = spec.dtype, .row_shape = {int64_t{spec.width}}};
  RETURN_IF_ERROR(tensors_.Write(handle, RowWrite::kAssign, rows, values, deadline));
  if (StateRowWidth(spec) == 0) return Status();
  return tensors_.Write(MakeStateHandle(spec), RowWrite::kAssign, rows, state, deadline);
}

}  // namespace espalier::sampler
