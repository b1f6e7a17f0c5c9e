// One table per node type with learnable rows, in ascending order of type. version_ counts the steps whose gradients
// were sent; Read asks the owners for exactly that version and so waits until the gradients of all trainers for the
// previous step have been applied. Push waits for the acknowledgements of the previous Push, then sends one request per
// table and returns, so that at most one step is unacknowledged. All tables of a run share a creation number, which
// rank 0 draws and broadcasts. learnable_snapshot.cc implements checkpoints and digests.
#include "services/trainer/data/learnable_rows.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "services/base/check.h"
#include "services/base/hash.h"
#include "services/base/mutex.h"
#include "services/base/unique_number.h"
#include "services/collective/agreement.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/model/torch_error.h"

namespace espalier::trainer {
namespace {

constexpr const char* kTensorName = "espalier-learnable-rows";

sampler::SparseOptimizer ToSparseOptimizer(const job::SparseOptimizer& options) {
  sampler::SparseOptimizer optimizer;
  switch (options.type) {
    case job::SparseOptimizerType::kSgd: optimizer.type = sampler::SparseOptimizerType::kSgd; break;
    case job::SparseOptimizerType::kAdagrad: optimizer.type = sampler::SparseOptimizerType::kAdagrad; break;
    case job::SparseOptimizerType::kRowWiseAdagrad:
      optimizer.type = sampler::SparseOptimizerType::kRowWiseAdagrad;
      break;
    case job::SparseOptimizerType::kAdam: optimizer.type = sampler::SparseOptimizerType::kAdam; break;
    case job::SparseOptimizerType::kAdamW: optimizer.type = sampler::SparseOptimizerType::kAdamW; break;
  }
  optimizer.weight_decay = options.weight_decay;
  optimizer.initial_accumulator = options.initial_accumulator;
  optimizer.duplicates = options.duplicates == job::DuplicateGradients::kSum ? sampler::DuplicateGradients::kSum
                                                                             : sampler::DuplicateGradients::kMean;
  return optimizer;
}

sampler::Initializer ToInitializer(const job::RowInitializer& options, uint64_t seed) {
  switch (options.type) {
    case job::RowInitializerType::kUniform: return sampler::Initializer::Uniform(options.low, options.high, seed);
    case job::RowInitializerType::kNormal: return sampler::Initializer::Normal(options.mean, options.deviation, seed);
    case job::RowInitializerType::kXavierUniform: return sampler::Initializer::XavierUniform(1, seed);
    case job::RowInitializerType::kPlugin: return sampler::Initializer::Plugin(options.plugin, options.arguments, seed);
    case job::RowInitializerType::kZeros: break;
  }
  return sampler::Initializer::Zeros();
}

DType ToDType(job::RowDType dtype) {
  switch (dtype) {
    case job::RowDType::kF32: return DType::kF32;
    case job::RowDType::kF16: return DType::kF16;
    case job::RowDType::kBf16: return DType::kBF16;
  }
  return DType::kF32;
}

}  // namespace

// Thread-safe: acknowledgements arrive on any thread, even after LearnableRows was destroyed.
class LearnableRows::Acknowledgements {
 public:
  explicit Acknowledgements(size_t count) : missing_(count) {}

  void Take(Status status) {
    MutexLock lock(&mutex_);
    --missing_;
    if (!status.ok() && error_.ok()) error_ = std::move(status);
  }
  Status Await(Deadline deadline) {
    MutexLock lock(&mutex_);
    if (!mutex_.AwaitBefore(deadline,
                            [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return missing_ == 0 || !error_.ok(); })) {
      return DeadlineExceeded("gradients of learnable rows were not acknowledged in time");
    }
    return error_;
  }

 private:
  Mutex mutex_;
  size_t missing_ ABSL_GUARDED_BY(mutex_);
  Status error_ ABSL_GUARDED_BY(mutex_);
};

torch::Tensor ConcatenateColumns(const torch::Tensor& features, const torch::Tensor& rows) {
  return features.size(1) == 0 ? rows : torch::cat({features, rows.to(features.device())}, 1);
}

LearnableRows::LearnableRows(const job::Training& training, const graph::PartitionBook& book,
                             sampler::EmbeddingStore& store, sampler::SeedSource& seeds, Rank rank,
                             uint32_t num_trainers, const Timeouts& timeouts, std::function<void()> on_progress)
    : book_(book),
      store_(store),
      seeds_(seeds),
      rank_(rank),
      timeouts_(timeouts),
      on_progress_(std::move(on_progress)) {
  const graph::GraphSchema& schema = book.schema();
  for (const job::Input& input : training.inputs) {
    if (!input.embedding.has_value()) continue;
    // Cannot fail, because NodeData has found the same name before.
    const Result<NodeTypeId> type = FindNodeType(input.node_type, schema, "spec.training.inputs.nodeType");
    ESPALIER_CHECK(type.ok()) << type.status().ToString();
    Table table;
    table.type = *type;
    table.type_name = schema.NodeTypeName(*type);
    table.spec = {
        .id = {.rows = sampler::RowSpace::Nodes(*type), .name = kTensorName},
        .dtype = ToDType(input.embedding->dtype),
        .width = static_cast<uint32_t>(input.embedding->size),
        // The seed includes the type; otherwise all types would have the same initial values.
        .initializer = ToInitializer(input.embedding->initializer, HashCombine(training.seed, Hash64(table.type_name))),
        .optimizer = ToSparseOptimizer(input.embedding->optimizer),
        .num_trainers = num_trainers};
    table.learning_rate = input.embedding->optimizer.learning_rate;
    table.schedule = input.embedding->schedule;
    tables_.push_back(std::move(table));
  }
  std::sort(tables_.begin(), tables_.end(), [](const Table& a, const Table& b) { return a.type < b.type; });
}

std::vector<GlobalRowId> LearnableRows::ToRowIds(std::span<const GlobalNodeId> nodes) {
  std::vector<GlobalRowId> rows;
  rows.reserve(nodes.size());
  for (const GlobalNodeId node : nodes) rows.emplace_back(node.value);
  return rows;
}

Status LearnableRows::NotFoundToUnavailable(Status status) {
  if (status.code() != StatusCode::kNotFound) return status;
  return Unavailable("a graph server was restarted and has lost the learnable rows: " + status.message());
}

const LearnableRows::Table* LearnableRows::Find(NodeTypeId type) const {
  for (const Table& table : tables_) {
    if (table.type == type) return &table;
  }
  return nullptr;
}

int64_t LearnableRows::width(NodeTypeId type) const {
  const Table* const table = Find(type);
  return table == nullptr ? 0 : int64_t{table->spec.width};
}

Status LearnableRows::Create(collective::Collective& collective) {
  uint64_t creation = UniqueNumber();
  RETURN_IF_ERROR(
      collective.Broadcast(std::as_writable_bytes(std::span(&creation, 1)), Rank(0), timeouts_.ForCollective()));
  for (Table& table : tables_) table.spec.id.creation = creation;
  size_t next = 0;
  const auto create = [&]() -> Result<bool> {
    RETURN_IF_ERROR(store_.CreateEmbedding(tables_[next].spec, timeouts_.ForData()));
    return ++next < tables_.size();
  };
  return collective::WorkInSteps(Rank(0), create, collective, timeouts_.collective).While("creating learnable rows");
}

Result<torch::Tensor> LearnableRows::Read(NodeTypeId type, std::span<const GlobalNodeId> nodes,
                                          Deadline deadline) const {
  const Table* const table = Find(type);
  if (table == nullptr) return torch::empty({static_cast<int64_t>(nodes.size()), 0}, torch::kFloat);
  auto rows = store_.ReadEmbedding(table->spec, version_, ToRowIds(nodes), deadline);
  if (!rows.ok()) return NotFoundToUnavailable(std::move(rows).status()).While("reading learnable rows");
  return ToFloats(*rows);
}

Status LearnableRows::Join(BatchTensors* batch, Deadline deadline) const {
  const Timer timer;
  batch->learnable.resize(batch->features.size());
  for (const Table& table : tables_) {
    ASSIGN_OR_RETURN(torch::Tensor rows, Read(table.type, batch->batch.nodes[table.type.value], deadline));
    rows.requires_grad_();
    batch->learnable[table.type.value] = rows;
    torch::Tensor& features = batch->features[table.type.value];
    try {
      features = ConcatenateColumns(features, rows);
    } catch (const std::exception& error) {  // of torch, for example out of memory on the features' device
      return FromTorchError(error).While("joining features and learnable rows");
    }
  }
  batch->fetch_seconds += timer.Seconds();
  return Status();
}

void LearnableRows::JoinNothing(BatchTensors* batch) const {
  batch->learnable.resize(batch->features.size());
  for (const Table& table : tables_) {
    torch::Tensor rows = torch::empty({0, int64_t{table.spec.width}}, torch::kFloat);
    rows.requires_grad_();
    batch->learnable[table.type.value] = rows;
    torch::Tensor& features = batch->features[table.type.value];
    features = ConcatenateColumns(features, rows);
  }
}

Status LearnableRows::Push(const BatchTensors& batch, const RunLength& run) {
  RETURN_IF_ERROR(AwaitPushes());
  const auto acknowledgements = std::make_shared<Acknowledgements>(tables_.size());
  const Deadline deadline = timeouts_.ForData();
  for (const Table& table : tables_) {
    const torch::Tensor gradient = batch.learnable[table.type.value].grad();
    // The gradient is undefined if the loss does not depend on the rows, for example if this rank has no seeds.
    std::vector<GlobalRowId> rows;
    if (gradient.defined()) rows = ToRowIds(batch.batch.nodes[table.type.value]);
    const Tensor values = gradient.defined() ? FromTorch(gradient.contiguous())
                                             : Tensor::Zeros(DType::kF32, {0, int64_t{table.spec.width}});
    const sampler::StepOfTrainer step{
        .step = version_,
        .rank = rank_,
        .learning_rate = LearningRateAt(table.schedule, table.learning_rate, run, static_cast<int64_t>(version_))};
    store_.PushGradients(table.spec, step, rows, values, deadline,
                         [acknowledgements](Status status) { acknowledgements->Take(std::move(status)); });
  }
  pending_ = acknowledgements;
  ++version_;
  return Status();
}

Status LearnableRows::Drop(Deadline deadline) {
  if (rank_ != Rank(0)) return Status();
  for (const Table& table : tables_) RETURN_IF_ERROR(store_.DropEmbedding(table.spec.id, deadline));
  return Status();
}

Status LearnableRows::AwaitPushes() {
  const auto pending = std::exchange(pending_, nullptr);
  if (pending == nullptr) return Status();
  return NotFoundToUnavailable(pending->Await(timeouts_.ForData())).While("sending gradients of learnable rows");
}

}  // namespace espalier::trainer
