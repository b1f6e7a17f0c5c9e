#include "services/trainer/adapters/dist_embedding.h"

#include <utility>

#include "services/base/mutex.h"
#include "services/base/unique_number.h"
#include "services/collective/agreement.h"

namespace espalier::adapters {
namespace {

// Of rows that are of no use to anybody: whether that succeeds is not worth a long wait.
constexpr std::chrono::seconds kTimeToDropAfterAnError{10};

// Rows go with the server that holds them: a next incarnation makes them again.
Status RestartWhereLost(Status status) {
  if (status.code() != StatusCode::kNotFound) return status;
  return Unavailable("a graph server was restarted and has lost the rows of an embedding: " + status.message());
}

template <class GlobalId>
std::vector<GlobalRowId> RowsOf(std::span<const GlobalId> ids) {
  std::vector<GlobalRowId> rows;
  rows.reserve(ids.size());
  for (const GlobalId id : ids) rows.emplace_back(id.value);
  return rows;
}

// f32 [rows, width], a copy.
torch::Tensor FloatsOf(const Tensor& rows) {
  const torch::ScalarType type = rows.dtype() == DType::kF16    ? torch::kHalf
                                 : rows.dtype() == DType::kBF16 ? torch::kBFloat16
                                                                : torch::kFloat;
  const torch::Tensor view = torch::from_blob(const_cast<std::byte*>(rows.bytes()), rows.shape(), type);
  return view.to(torch::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

// The bytes of a contiguous f32 matrix, which live as long as this.
Tensor SharedFloats(const torch::Tensor& matrix) {
  const auto owner = std::make_shared<torch::Tensor>(matrix);
  return Tensor::Wrap(DType::kF32, matrix.sizes().vec(), owner->data_ptr<float>(), owner);
}

// F32 [rows of all, width]. Some of torch's functions, embedding with sparse = true for one, leave sparse gradients.
Result<Tensor> Joined(const std::vector<torch::Tensor>& gradients, int64_t width) {
  if (gradients.empty()) return Tensor::Zeros(DType::kF32, {0, width});
  try {
    std::vector<torch::Tensor> dense;
    for (const torch::Tensor& gradient : gradients) {
      dense.push_back(gradient.layout() == torch::kStrided ? gradient : gradient.to_dense());
    }
    return SharedFloats(torch::cat(dense).contiguous());
  } catch (const std::exception& error) {  // torch, out of memory for one
    return Internal(std::string("joining gradients: ") + error.what());
  }
}

}  // namespace

// Thread-safe: it comes on any thread, also after the owner has given up.
class DistEmbedding::Acknowledgement {
 public:
  void Take(Status status) {
    MutexLock lock(&mutex_);
    status_ = std::move(status);
    is_here_ = true;
  }
  Status Await(Deadline deadline) {
    MutexLock lock(&mutex_);
    if (!mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_here_; })) {
      return DeadlineExceeded("gradients of an embedding were not acknowledged in time");
    }
    return status_;
  }

 private:
  Mutex mutex_;
  bool is_here_ ABSL_GUARDED_BY(mutex_) = false;
  Status status_ ABSL_GUARDED_BY(mutex_);
};

Result<std::unique_ptr<DistEmbedding>> DistEmbedding::Create(std::shared_ptr<sampler::EmbeddingStore> store,
                                                             collective::Collective& group,
                                                             const DistEmbeddingOptions& options,
                                                             sampler::KeptRows* kept) {
  if (options.size < 1 || options.size > INT32_MAX) {
    return InvalidArgument("an embedding with rows of " + std::to_string(options.size) + " values");
  }
  const Deadline deadline = Deadline::After(options.call_timeout);
  uint64_t shared[] = {UniqueNumber(), kept == nullptr ? 0 : kept->version()};  // of the run, and of the rows
  RETURN_IF_ERROR(group.Broadcast(std::as_writable_bytes(std::span(shared)), Rank(0), deadline));
  sampler::EmbeddingSpec spec{.id = {.rows = options.rows, .name = options.name},
                              .dtype = options.dtype,
                              .width = static_cast<uint32_t>(options.size),
                              .initializer = options.initializer,
                              .optimizer = options.optimizer,
                              .num_trainers = group.size(),
                              .first_version = shared[1]};
  spec.id.creation = shared[0];
  // Kept rows take the place of first values, which need not be made then.
  if (kept != nullptr) spec.initializer = sampler::Initializer::Zeros();
  bool is_begun = false, is_made = false;
  const auto make_some = [&]() -> Result<bool> {
    const Deadline step_deadline = Deadline::After(options.call_timeout);
    if (is_made) return kept->RestoreSome(*store, spec, step_deadline);
    if (kept != nullptr) RETURN_IF_ERROR(kept->CheckFits(spec));
    is_begun = true;
    RETURN_IF_ERROR(store->CreateEmbedding(spec, step_deadline));
    is_made = true;
    return kept != nullptr;
  };
  Status made = collective::WorkInSteps(Rank(0), make_some, group, options.call_timeout);
  if (!made.ok()) {
    // Half restored, or made by some servers, they are of no use to anybody; that they cannot be dropped either is not
    // what has gone wrong.
    const Deadline drop_deadline = Deadline::After(options.call_timeout).AtMost(kTimeToDropAfterAnError);
    if (is_begun) static_cast<void>(store->DropEmbedding(spec.id, drop_deadline));
    return std::move(made).While("creating the embedding '" + options.name + "'");
  }
  return std::unique_ptr<DistEmbedding>(
      new DistEmbedding(std::move(store), group, std::move(spec), options.call_timeout));
}

DistEmbedding::DistEmbedding(std::shared_ptr<sampler::EmbeddingStore> store, collective::Collective& group,
                             sampler::EmbeddingSpec spec, std::chrono::milliseconds call_timeout)
    : store_(std::move(store)),
      group_(group),
      spec_(std::move(spec)),
      call_timeout_(call_timeout),
      version_(spec_.first_version) {}

DistEmbedding::~DistEmbedding() = default;

Status DistEmbedding::CheckAreOf(sampler::RowsOf of) const {
  if (spec_.id.rows.of == of) return Status();
  return InvalidArgument("the rows of '" + spec_.id.name + "' are not those of " +
                         (of == sampler::RowsOf::kNodes ? "nodes" : "edges"));
}

Result<torch::Tensor> DistEmbedding::ReadRows(std::vector<GlobalRowId> rows) {
  // Autograd cannot bring a gradient to what nobody holds but this.
  std::erase_if(reads_, [](const Read& read) { return read.leaf.use_count() == 1 && !read.leaf.grad().defined(); });
  torch::Tensor values = torch::empty({0, size()});
  if (!rows.empty()) {
    Result<Tensor> read = store_->ReadEmbedding(spec_, version_, rows, CallDeadline());
    if (!read.ok()) return RestartWhereLost(std::move(read).status()).While("reading '" + spec_.id.name + "'");
    values = FloatsOf(*read);
  }
  if (!torch::GradMode::is_enabled()) return values;
  values.requires_grad_();
  reads_.push_back({std::move(rows), values});
  return values;
}

Result<torch::Tensor> DistEmbedding::operator()(std::span<const GlobalRowId> rows) {
  return ReadRows({rows.begin(), rows.end()});
}

Result<torch::Tensor> DistEmbedding::operator()(std::span<const GlobalNodeId> nodes) {
  RETURN_IF_ERROR(CheckAreOf(sampler::RowsOf::kNodes));
  return ReadRows(RowsOf(nodes));
}

Result<torch::Tensor> DistEmbedding::operator()(std::span<const GlobalEdgeId> edges) {
  RETURN_IF_ERROR(CheckAreOf(sampler::RowsOf::kEdges));
  return ReadRows(RowsOf(edges));
}

Result<torch::Tensor> DistEmbedding::operator()(const torch::Tensor& ids) {
  if (ids.dim() != 1 || ids.scalar_type() != torch::kInt64) {
    return InvalidArgument("ids of rows have " + std::to_string(ids.dim()) + " dimensions of " +
                           c10::toString(ids.scalar_type()) + ", expected 1 of Long");
  }
  const torch::Tensor here = ids.detach().to(torch::kCPU).contiguous();
  std::vector<GlobalRowId> rows;
  rows.reserve(static_cast<size_t>(here.numel()));
  for (int64_t i = 0; i < here.numel(); ++i) {
    const int64_t id = here.data_ptr<int64_t>()[i];
    if (id < 0) return InvalidArgument("row " + std::to_string(id) + " of '" + spec_.id.name + "' does not exist");
    rows.emplace_back(static_cast<uint64_t>(id));
  }
  return ReadRows(std::move(rows));
}

Status DistEmbedding::Step(double learning_rate) {
  RETURN_IF_ERROR(AwaitSteps());
  std::vector<GlobalRowId> rows;
  std::vector<torch::Tensor> gradients;
  for (const Read& read : reads_) {
    const torch::Tensor gradient = read.leaf.grad();
    if (!gradient.defined() || read.rows.empty()) continue;  // nothing depends on it
    rows.insert(rows.end(), read.rows.begin(), read.rows.end());
    gradients.push_back(gradient.detach());
  }
  reads_.clear();
  Result<Tensor> values = Joined(gradients, size());
  if (!values.ok()) return std::move(values).status().While("a step of '" + spec_.id.name + "'");
  const auto acknowledgement = std::make_shared<Acknowledgement>();
  pending_ = acknowledgement;
  const sampler::StepOfTrainer step{.step = version_, .rank = group_.rank(), .learning_rate = learning_rate};
  ++version_;
  store_->PushGradients(spec_, step, rows, *values, CallDeadline(),
                        [acknowledgement](Status status) { acknowledgement->Take(std::move(status)); });
  return Status();
}

Status DistEmbedding::AwaitSteps() {
  const auto pending = std::exchange(pending_, nullptr);
  if (pending == nullptr) return Status();
  return RestartWhereLost(pending->Await(CallDeadline())).While("sending gradients of '" + spec_.id.name + "'");
}

Status DistEmbedding::Drop() {
  const Status own = AwaitSteps();
  RETURN_IF_ERROR(collective::AgreeOn(own, group_, call_timeout_));
  if (group_.rank() != Rank(0)) return Status();
  return store_->DropEmbedding(spec_.id, CallDeadline());
}

}  // namespace espalier::adapters
