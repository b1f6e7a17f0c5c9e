// A read copies the rows into a new leaf of autograd, which is remembered in reads_ together with its row ids. Step
// concatenates the gradients that backward() has stored at the leaves and passes them with the ids to EmbeddingTable.
// The owner of a row combines several gradients of the row.
#include "services/trainer/adapters/dist_embedding.h"

#include <string>

#include "services/base/pluralize.h"

namespace espalier::adapters {
namespace {

template <class GlobalId>
std::vector<GlobalRowId> ToRowIds(std::span<const GlobalId> ids) {
  std::vector<GlobalRowId> rows;
  rows.reserve(ids.size());
  for (const GlobalId id : ids) rows.emplace_back(id.value);
  return rows;
}

// Returns a copy of the rows as f32 [rows, width].
torch::Tensor ToFloats(const Tensor& rows) {
  const torch::ScalarType type = rows.dtype() == DType::kF16    ? torch::kHalf
                                 : rows.dtype() == DType::kBF16 ? torch::kBFloat16
                                                                : torch::kFloat;
  const torch::Tensor view = torch::from_blob(const_cast<std::byte*>(rows.bytes()), rows.shape(), type);
  return view.to(torch::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

// Returns a tensor that shares the memory of a contiguous f32 matrix and keeps it alive.
Tensor WrapFloats(const torch::Tensor& matrix) {
  const auto owner = std::make_shared<torch::Tensor>(matrix);
  return Tensor::Wrap(DType::kF32, matrix.sizes().vec(), owner->data_ptr<float>(), owner);
}

// Returns the concatenated gradients, F32 [total rows, width]. Sparse gradients, which some functions of torch create
// (such as embedding with sparse = true), are converted to dense ones.
Result<Tensor> ConcatenateGradients(const std::vector<torch::Tensor>& gradients, int64_t width) {
  if (gradients.empty()) return Tensor::Zeros(DType::kF32, {0, width});
  try {
    std::vector<torch::Tensor> dense;
    for (const torch::Tensor& gradient : gradients) {
      dense.push_back(gradient.layout() == torch::kStrided ? gradient : gradient.to_dense());
    }
    return WrapFloats(torch::cat(dense).contiguous());
  } catch (const std::exception& error) {  // of torch, e.g. out of memory
    return Internal(std::string("concatenating gradients: ") + error.what());
  }
}

}  // namespace

Result<std::unique_ptr<DistEmbedding>> DistEmbedding::Create(std::shared_ptr<sampler::EmbeddingStore> store,
                                                             collective::Collective& group,
                                                             const DistEmbeddingOptions& options,
                                                             sampler::SavedLearnableRows* saved) {
  ASSIGN_OR_RETURN(auto table, client::EmbeddingTable::Create(std::move(store), group, options, saved));
  return std::unique_ptr<DistEmbedding>(new DistEmbedding(std::move(table)));
}

Status DistEmbedding::CheckRowsAre(sampler::RowsOf of) const {
  if (table_->rows().of == of) return Status();
  const std::string ids = of == sampler::RowsOf::kNodes ? "node" : "edge";
  return InvalidArgument("the rows of '" + table_->name() + "' are not those of " + ids + "s: " + ids +
                         " ids cannot be used");
}

Result<torch::Tensor> DistEmbedding::ReadRows(std::vector<GlobalRowId> rows) {
  // Forgets the leaves to which only reads_ refers and that have no gradient: autograd can no longer give them one.
  std::erase_if(reads_, [](const Read& read) { return read.leaf.use_count() == 1 && !read.leaf.grad().defined(); });
  ASSIGN_OR_RETURN(const Tensor read, table_->ReadRows(rows));
  torch::Tensor values = ToFloats(read);
  if (!torch::GradMode::is_enabled()) return values;
  values.requires_grad_();
  reads_.push_back({std::move(rows), values});
  return values;
}

Result<torch::Tensor> DistEmbedding::operator()(std::span<const GlobalRowId> rows) {
  return ReadRows({rows.begin(), rows.end()});
}

Result<torch::Tensor> DistEmbedding::operator()(std::span<const GlobalNodeId> nodes) {
  RETURN_IF_ERROR(CheckRowsAre(sampler::RowsOf::kNodes));
  return ReadRows(ToRowIds(nodes));
}

Result<torch::Tensor> DistEmbedding::operator()(std::span<const GlobalEdgeId> edges) {
  RETURN_IF_ERROR(CheckRowsAre(sampler::RowsOf::kEdges));
  return ReadRows(ToRowIds(edges));
}

Result<torch::Tensor> DistEmbedding::operator()(const torch::Tensor& ids) {
  if (ids.dim() != 1 || ids.scalar_type() != torch::kInt64) {
    return InvalidArgument("row ids are a " + std::string(c10::toString(ids.scalar_type())) + " tensor with " +
                           Pluralize(static_cast<uint64_t>(ids.dim()), "dimension") +
                           "; expected a Long tensor with 1 dimension");
  }
  const torch::Tensor on_cpu = ids.detach().to(torch::kCPU).contiguous();
  std::vector<GlobalRowId> rows;
  rows.reserve(static_cast<size_t>(on_cpu.numel()));
  for (int64_t i = 0; i < on_cpu.numel(); ++i) {
    const int64_t id = on_cpu.data_ptr<int64_t>()[i];
    if (id < 0) return InvalidArgument("row " + std::to_string(id) + " of '" + table_->name() + "' does not exist");
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
    if (!gradient.defined() || read.rows.empty()) continue;  // the loss does not depend on these rows
    rows.insert(rows.end(), read.rows.begin(), read.rows.end());
    gradients.push_back(gradient.detach());
  }
  reads_.clear();
  Result<Tensor> values = ConcatenateGradients(gradients, size());
  if (!values.ok()) return std::move(values).status().While("a step of '" + table_->name() + "'");
  return table_->Step(rows, *values, learning_rate);
}

}  // namespace espalier::adapters
