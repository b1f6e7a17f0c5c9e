// sampler::PartitionedTensors routes reads and writes of rows to their partitions. DistTensor adds the ownership of
// rows (the handle that created a scoped tensor drops its rows), a default deadline (DistGraph::CallDeadline) and
// attachment as a column.
#include "services/client/tensors/dist_tensor.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace espalier::client {
namespace {

// Stream of the random initial values of tensors without a name. The default stream is the name, but generated names
// differ from run to run.
constexpr const char* kAnonymousStream = "anonymous";

}  // namespace

Status NotFoundToUnavailable(Status status) {
  if (status.code() != StatusCode::kNotFound) return status;
  return Unavailable(
      "rows of a tensor are lost: a server that held them or the program that created them has ended; restart this "
      "program: " +
      status.message());
}

Result<DistTensor> DistTensor::Create(const DistGraph& graph, const DistTensorOptions& options) {
  sampler::PartitionedTensors& tensors = graph.partitions().tensors();
  sampler::TensorSpec spec;
  spec.id.rows = options.rows;
  spec.id.name = options.name.empty() ? tensors.GenerateName() : options.name;
  spec.dtype = options.dtype;
  spec.row_shape = options.row_shape;
  spec.initializer = options.initializer;
  if (options.name.empty() && spec.initializer.stream.empty()) spec.initializer.stream = kAnonymousStream;
  ASSIGN_OR_RETURN(sampler::TensorHandle tensor, tensors.Create(spec, graph.CallDeadline()));
  return DistTensor(graph, std::move(tensor), options.lifetime);
}

Result<DistTensor> DistTensor::Open(const DistGraph& graph, const RowSpace& rows, const std::string& name) {
  ASSIGN_OR_RETURN(sampler::TensorHandle tensor,
                   graph.partitions().tensors().Find({rows, name, {}}, graph.CallDeadline()));
  return DistTensor(graph, std::move(tensor), Lifetime::kPersistent);
}

Status DistTensor::Drop(const DistGraph& graph, const RowSpace& rows, const std::string& name) {
  return graph.partitions().tensors().Drop({rows, name, {}}, graph.CallDeadline());
}

DistTensor::DistTensor(const DistGraph& graph, sampler::TensorHandle tensor, Lifetime lifetime)
    : graph_(std::make_shared<const DistGraph>(graph)),
      tensor_(std::move(tensor)),
      drops_rows_(lifetime == Lifetime::kScoped && tensor_.made_by_this),
      num_rows_(graph.partitions().tensors().NumRows(tensor_.id.rows)) {}

DistTensor::~DistTensor() { Release(); }

DistTensor::DistTensor(DistTensor&& other) noexcept
    : graph_(std::move(other.graph_)),
      tensor_(std::move(other.tensor_)),
      drops_rows_(other.drops_rows_),
      num_rows_(other.num_rows_),
      attached_(std::move(other.attached_)) {}

DistTensor& DistTensor::operator=(DistTensor&& other) noexcept {
  if (this == &other) return *this;
  // If both handles refer to the same tensor and one of them owns the rows, this handle owns them after the move.
  if (graph_ != nullptr && other.graph_ != nullptr && &graph_->partitions() == &other.graph_->partitions() &&
      tensor_.id == other.tensor_.id) {
    other.drops_rows_ = other.drops_rows_ || drops_rows_;
    drops_rows_ = false;
  }
  Release();
  graph_ = std::move(other.graph_);
  tensor_ = std::move(other.tensor_);
  drops_rows_ = other.drops_rows_;
  num_rows_ = other.num_rows_;
  attached_ = std::move(other.attached_);
  return *this;
}

void DistTensor::Release() noexcept {
  if (graph_ == nullptr) return;
  for (const sampler::Attachment& attachment : attached_) graph_->partitions().Detach(attachment);
  if (drops_rows_) graph_->partitions().tensors().DropLater(tensor_.id);
}

std::vector<int64_t> DistTensor::shape() const {
  std::vector<int64_t> shape = {static_cast<int64_t>(num_rows_)};
  shape.insert(shape.end(), tensor_.row_shape.begin(), tensor_.row_shape.end());
  return shape;
}

Result<Tensor> DistTensor::ReadRows(std::span<const GlobalRowId> rows, std::optional<Deadline> deadline) const {
  return graph_->partitions().tensors().Read(tensor_, rows, deadline.value_or(graph_->CallDeadline()));
}

Status DistTensor::WriteWith(sampler::RowWrite write, std::span<const GlobalRowId> rows, const Tensor& values,
                             std::optional<Deadline> deadline) {
  return graph_->partitions().tensors().Write(tensor_, write, rows, values, deadline.value_or(graph_->CallDeadline()));
}

Status DistTensor::WriteRows(std::span<const GlobalRowId> rows, const Tensor& values,
                             std::optional<Deadline> deadline) {
  return WriteWith(sampler::RowWrite::kAssign, rows, values, std::move(deadline));
}

Status DistTensor::AddRows(std::span<const GlobalRowId> rows, const Tensor& values, std::optional<Deadline> deadline) {
  return WriteWith(sampler::RowWrite::kAdd, rows, values, std::move(deadline));
}

Status DistTensor::MinRows(std::span<const GlobalRowId> rows, const Tensor& values, std::optional<Deadline> deadline) {
  return WriteWith(sampler::RowWrite::kMin, rows, values, std::move(deadline));
}

Status DistTensor::MaxRows(std::span<const GlobalRowId> rows, const Tensor& values, std::optional<Deadline> deadline) {
  return WriteWith(sampler::RowWrite::kMax, rows, values, std::move(deadline));
}

Status DistTensor::Or(const DistTensor& other, std::optional<Deadline> deadline) {
  return graph_->partitions().tensors().Combine(tensor_, sampler::RowWrite::kOr, other.tensor_,
                                                deadline.value_or(graph_->CallDeadline()));
}

Result<Tensor> DistTensor::Reduce(sampler::Reduction reduction, std::optional<Deadline> deadline) const {
  return graph_->partitions().tensors().Reduce(tensor_, reduction, deadline.value_or(graph_->CallDeadline()));
}

Result<uint64_t> DistTensor::CountNonzero(std::optional<Deadline> deadline) const {
  ASSIGN_OR_RETURN(const Tensor counts, Reduce(sampler::Reduction::kCountNonzero, std::move(deadline)));
  uint64_t total = 0;
  for (const uint64_t count : counts.values<uint64_t>()) total += count;
  return total;
}

Result<std::vector<uint64_t>> DistTensor::CountNonzeroByPartition(std::optional<Deadline> deadline) const {
  return graph_->partitions().tensors().CountNonzeroByPartition(tensor_, deadline.value_or(graph_->CallDeadline()));
}

Result<Tensor> DistTensor::Sum(std::optional<Deadline> deadline) const {
  return Reduce(sampler::Reduction::kSum, std::move(deadline));
}
Result<Tensor> DistTensor::Min(std::optional<Deadline> deadline) const {
  return Reduce(sampler::Reduction::kMin, std::move(deadline));
}
Result<Tensor> DistTensor::Max(std::optional<Deadline> deadline) const {
  return Reduce(sampler::Reduction::kMax, std::move(deadline));
}

Result<Tensor> DistTensor::Mean(std::optional<Deadline> deadline) const {
  ASSIGN_OR_RETURN(const Tensor sum, Sum(std::move(deadline)));
  Tensor mean = Tensor::Zeros(DType::kF64, sum.shape());
  const std::span<double> values = mean.mutable_values<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = num_rows_ == 0 ? std::numeric_limits<double>::quiet_NaN()
                               : sum.ValueAsDouble(static_cast<int64_t>(i)) / static_cast<double>(num_rows_);
  }
  return mean;
}

Status DistTensor::AttachAs(const std::string& column) {
  ASSIGN_OR_RETURN(sampler::Attachment attachment, graph_->partitions().Attach(column, tensor_));
  attached_.push_back(std::move(attachment));
  return Status();
}

void DistTensor::Detach(const std::string& column) {
  std::erase_if(attached_, [&](const sampler::Attachment& attachment) {
    if (attachment.column == column) graph_->partitions().Detach(attachment);
    return attachment.column == column;
  });
}

}  // namespace espalier::client
