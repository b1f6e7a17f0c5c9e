// Step sends gradients to the owners of rows; the acknowledgment arrives later, on any thread. The table keeps the
// acknowledgment of its last step (`pending_`) and waits for it before it sends the next step, so at most one step is
// unacknowledged. If a wait ends at its deadline, `pending_` is kept, so the call can be repeated. If the gradients of
// a step could not be delivered, `pending_` is kept too: the owners lack these gradients, so every later step must
// return the error.
#include "services/client/embedding/embedding_table.h"

#include <cstring>
#include <utility>

#include "services/base/mutex.h"
#include "services/base/unique_number.h"
#include "services/base/wait_ended.h"
#include "services/collective/agreement.h"

namespace espalier::client {
namespace {

// Timeout for dropping rows after an error. It is short, because the drop only frees memory.
constexpr std::chrono::seconds kDropTimeout{10};

// Converts NotFound, the error of a restarted server that no longer has the rows, to Unavailable: the job is restarted,
// and its next incarnation creates the rows again.
Status LostRowsToUnavailable(Status status) {
  if (status.code() != StatusCode::kNotFound) return status;
  return Unavailable("a graph server was restarted and has lost the rows of an embedding: " + status.message());
}

// Copies F32, F16 or BF16 rows to `out`, which must have exactly one float for each value of `rows`.
void CopyToFloats(const Tensor& rows, std::span<float> out) {
  if (rows.dtype() == DType::kF32) {
    if (!out.empty()) std::memcpy(out.data(), rows.bytes(), out.size_bytes());
    return;
  }
  const auto* words = reinterpret_cast<const uint16_t*>(rows.bytes());
  const bool is_half = rows.dtype() == DType::kF16;
  for (size_t i = 0; i < out.size(); ++i) out[i] = is_half ? HalfToFloat(words[i]) : BFloat16ToFloat(words[i]);
}

}  // namespace

// Thread-safe. Put may be called after the table is destroyed.
class EmbeddingTable::Acknowledgment {
 public:
  void Put(Status status) {
    MutexLock lock(&mutex_);
    status_ = std::move(status);
  }
  // Blocks until Put is called and returns its status. Returns nullopt if the wait ends first.
  std::optional<Status> Await(const Deadline& deadline) {
    MutexLock lock(&mutex_);
    mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return status_.has_value(); });
    return status_;
  }

 private:
  Mutex mutex_;
  std::optional<Status> status_ ABSL_GUARDED_BY(mutex_);
};

Result<std::unique_ptr<EmbeddingTable>> EmbeddingTable::Create(std::shared_ptr<sampler::EmbeddingStore> store,
                                                               collective::Collective& group,
                                                               const EmbeddingTableOptions& options,
                                                               sampler::SavedLearnableRows* saved) {
  if (options.size < 1 || options.size > INT32_MAX) {
    return InvalidArgument("an embedding with rows of " + std::to_string(options.size) + " values, expected 1 to " +
                           std::to_string(INT32_MAX));
  }
  const Deadline deadline = Deadline::After(options.call_timeout).OrStop(options.stop);
  // The values of rank 0 for spec.id.creation and spec.first_version.
  uint64_t shared[] = {UniqueNumber(), saved == nullptr ? 0 : saved->version()};
  RETURN_IF_ERROR(group.Broadcast(std::as_writable_bytes(std::span(shared)), Rank(0), deadline));
  sampler::EmbeddingSpec spec{.id = {.rows = options.rows, .name = options.name},
                              .dtype = options.dtype,
                              .width = static_cast<uint32_t>(options.size),
                              .initializer = options.initializer,
                              .optimizer = options.optimizer,
                              .num_trainers = group.size(),
                              .first_version = shared[1]};
  spec.id.creation = shared[0];
  // Saved rows replace the initial values, so the servers need not compute these.
  if (saved != nullptr) spec.initializer = sampler::Initializer::Zeros();
  bool has_begun = false, is_created = false;
  const auto create_or_restore_some = [&]() -> Result<bool> {
    const Deadline step_deadline = Deadline::After(options.call_timeout).OrStop(options.stop);
    if (is_created) return saved->RestoreSome(*store, spec, step_deadline);
    if (saved != nullptr) RETURN_IF_ERROR(saved->CheckFits(spec));
    has_begun = true;
    RETURN_IF_ERROR(store->CreateEmbedding(spec, step_deadline));
    is_created = true;
    return saved != nullptr;
  };
  Status made = collective::WorkInSteps(Rank(0), create_or_restore_some, group, options.call_timeout);
  if (!made.ok()) {
    // Drop rows that are partly restored or that only some servers have created. An error of the drop is ignored, so
    // that the first error is reported.
    const Deadline drop_deadline = Deadline::After(options.call_timeout).AtMost(kDropTimeout);
    if (has_begun) static_cast<void>(store->DropEmbedding(spec.id, drop_deadline));
    return std::move(made).While("creating the embedding '" + options.name + "'");
  }
  return std::unique_ptr<EmbeddingTable>(
      new EmbeddingTable(std::move(store), group, std::move(spec), options.call_timeout));
}

EmbeddingTable::EmbeddingTable(std::shared_ptr<sampler::EmbeddingStore> store, collective::Collective& group,
                               sampler::EmbeddingSpec spec, std::chrono::milliseconds call_timeout)
    : store_(std::move(store)),
      group_(group),
      spec_(std::move(spec)),
      call_timeout_(call_timeout),
      version_(spec_.first_version) {}

EmbeddingTable::~EmbeddingTable() = default;

Result<std::vector<GlobalRowId>> EmbeddingTable::ToRowIds(std::span<const int64_t> ids) const {
  std::vector<GlobalRowId> rows;
  rows.reserve(ids.size());
  for (const int64_t id : ids) {
    if (id < 0) return InvalidArgument("row " + std::to_string(id) + " of '" + name() + "' does not exist");
    rows.emplace_back(static_cast<uint64_t>(id));
  }
  return rows;
}

Result<Tensor> EmbeddingTable::ReadRows(std::span<const GlobalRowId> rows, std::optional<Deadline> deadline) {
  if (rows.empty()) return Tensor::Zeros(spec_.dtype, {0, size()});
  Result<Tensor> read = store_->ReadEmbedding(spec_, version_, rows, deadline.value_or(CallDeadline()));
  if (read.ok()) return read;
  return LostRowsToUnavailable(std::move(read).status()).While("reading '" + name() + "'");
}

Status EmbeddingTable::GatherRowsInto(std::span<const int64_t> ids, std::span<float> out,
                                      std::optional<Deadline> deadline) {
  if (out.size() != ids.size() * spec_.width) {
    return InvalidArgument("memory for " + std::to_string(out.size()) + " values, expected " +
                           std::to_string(ids.size()) + " rows of '" + name() + "' with " +
                           std::to_string(spec_.width) + " values each");
  }
  ASSIGN_OR_RETURN(const std::vector<GlobalRowId> rows, ToRowIds(ids));
  ASSIGN_OR_RETURN(const Tensor values, ReadRows(rows, deadline));
  CopyToFloats(values, out);
  return Status();
}

Status EmbeddingTable::Step(std::span<const int64_t> ids, std::span<const float> gradients, double learning_rate,
                            std::optional<Deadline> deadline) {
  if (gradients.size() != ids.size() * spec_.width) {
    return InvalidArgument(std::to_string(gradients.size()) + " values of gradients, expected " +
                           std::to_string(ids.size()) + " rows of '" + name() + "' with " +
                           std::to_string(spec_.width) + " values each");
  }
  ASSIGN_OR_RETURN(const std::vector<GlobalRowId> rows, ToRowIds(ids));
  std::vector<float> copy(gradients.begin(), gradients.end());
  return Step(rows, Tensor::FromVector(std::move(copy), {static_cast<int64_t>(ids.size()), size()}), learning_rate,
              deadline);
}

Status EmbeddingTable::Step(std::span<const GlobalRowId> rows, const Tensor& gradients, double learning_rate,
                            std::optional<Deadline> deadline) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(rows.size()), size()};
  if (gradients.dtype() != DType::kF32 || gradients.shape() != shape) {
    return InvalidArgument("gradients " + gradients.ToString() + " for " + std::to_string(rows.size()) + " rows of '" +
                           name() + "', expected F32 [" + std::to_string(rows.size()) + ", " +
                           std::to_string(spec_.width) + "]");
  }
  RETURN_IF_ERROR(store_->CheckRows(spec_, rows));
  RETURN_IF_ERROR(AwaitSteps(deadline));
  const auto acknowledgment = std::make_shared<Acknowledgment>();
  pending_ = acknowledgment;
  const sampler::StepOfTrainer step{.step = version_, .rank = group_.rank(), .learning_rate = learning_rate};
  ++version_;
  store_->PushGradients(spec_, step, rows, gradients, CallDeadline(),
                        [acknowledgment](Status status) { acknowledgment->Put(std::move(status)); });
  return Status();
}

Status EmbeddingTable::AwaitSteps(std::optional<Deadline> deadline) {
  if (pending_ == nullptr) return Status();
  const Deadline until = deadline.value_or(CallDeadline());
  std::optional<Status> acknowledged = pending_->Await(until);
  if (!acknowledged.has_value()) return WaitEnded(until, "gradients of '" + name() + "' were not acknowledged in time");
  if (acknowledged->ok()) pending_.reset();  // otherwise every later call returns the error
  return LostRowsToUnavailable(*std::move(acknowledged)).While("sending gradients of '" + name() + "'");
}

Status EmbeddingTable::Drop() {
  const Status own = AwaitSteps();
  RETURN_IF_ERROR(collective::AgreeOn(own, group_, call_timeout_));
  if (group_.rank() != Rank(0)) return Status();
  return store_->DropEmbedding(spec_.id, CallDeadline());
}

}  // namespace espalier::client
