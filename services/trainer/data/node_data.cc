// Make finds the columns that the document names, and their widths. The functions that read (Features, Labels, ...)
// gather rows and convert them: sampler::GatherValues converts I8 columns that have scales; other columns are converted
// through a view, without an intermediate copy, if FindCounterpart knows their dtype. CountOutputs reads the labels of
// each part of the split in chunks. The size of a chunk is limited in nodes and in values; of T ranks, rank r reads the
// chunks r, r + T, ...
#include "services/trainer/data/node_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>

#include "services/collective/agreement.h"
#include "services/job/label_limits.h"
#include "services/trainer/data/learnable_rows.h"

namespace espalier::trainer {
namespace {

using graph::GraphSchema;
using sampler::ColumnDescription;

std::string ListNames(const std::vector<ColumnDescription>& columns, NodeTypeId type) {
  std::string names;
  for (const ColumnDescription& column : columns) {
    if (column.node_type != type || column.name == sampler::kOriginalIdColumn) continue;
    names += (names.empty() ? "" : ", ") + column.name;
  }
  return names.empty() ? "none" : names;
}

Result<ColumnDescription> FindColumn(const std::vector<ColumnDescription>& columns, NodeTypeId type,
                                     const std::string& name, const GraphSchema& schema) {
  for (const ColumnDescription& column : columns) {
    if (column.node_type == type && column.name == name) return column;
  }
  return NotFound("node type '" + schema.NodeTypeName(type) + "' has no column '" + name +
                  "'; it has: " + ListNames(columns, type));
}

int64_t CountValuesPerRow(const ColumnDescription& column) {
  int64_t width = 1;
  for (const int64_t size : column.row_shape) width *= size;
  return width;
}

// Sets `*type` to the torch type with the same representation. Returns false for unsigned types of more than 8 bits,
// which few operations of torch support.
bool FindCounterpart(DType dtype, torch::ScalarType* type) {
  switch (dtype) {
    case DType::kBool: *type = torch::kBool; return true;
    case DType::kU8: *type = torch::kUInt8; return true;
    case DType::kI8: *type = torch::kInt8; return true;
    case DType::kI16: *type = torch::kInt16; return true;
    case DType::kI32: *type = torch::kInt32; return true;
    case DType::kI64: *type = torch::kInt64; return true;
    case DType::kF16: *type = torch::kHalf; return true;
    case DType::kBF16: *type = torch::kBFloat16; return true;
    case DType::kF32: *type = torch::kFloat; return true;
    case DType::kF64: *type = torch::kDouble; return true;
    case DType::kU16:
    case DType::kU32:
    case DType::kU64: return false;
  }
  return false;
}

// Returns a torch tensor that shares the memory and keeps it alive. The result must not be written to.
torch::Tensor View(const Tensor& tensor, torch::ScalarType type) {
  auto owner = std::make_shared<Tensor>(tensor);
  return torch::from_blob(
      const_cast<std::byte*>(tensor.bytes()), tensor.shape(), [owner](void*) {}, type);
}

// Converts a tensor of an unsigned type for which FindCounterpart returns false.
template <class To>
torch::Tensor ToWiderType(const Tensor& tensor, torch::ScalarType type) {
  torch::Tensor widened = torch::empty(tensor.shape(), type);
  To* to = widened.data_ptr<To>();
  const auto copy = [&](auto values) {
    for (size_t i = 0; i < values.size(); ++i) to[i] = static_cast<To>(values[i]);
  };
  if (tensor.dtype() == DType::kU16) copy(tensor.values<uint16_t>());
  if (tensor.dtype() == DType::kU32) copy(tensor.values<uint32_t>());
  if (tensor.dtype() == DType::kU64) copy(tensor.values<uint64_t>());
  return widened;
}

}  // namespace

Result<torch::Tensor> ToFloats(const Tensor& tensor) {
  torch::ScalarType type;
  if (!FindCounterpart(tensor.dtype(), &type)) return ToWiderType<float>(tensor, torch::kFloat);
  return View(tensor, type).to(torch::kFloat);
}

Result<torch::Tensor> ToClasses(const Tensor& tensor) {
  torch::ScalarType type;
  if (!FindCounterpart(tensor.dtype(), &type)) return ToWiderType<int64_t>(tensor, torch::kInt64).flatten();
  const torch::Tensor values = View(tensor, type).flatten();
  if (!values.is_floating_point()) return values.to(torch::kInt64);
  const torch::Tensor reals = values.to(torch::kDouble).contiguous();
  torch::Tensor classes = torch::empty({reals.numel()}, torch::kInt64);
  for (int64_t i = 0; i < reals.numel(); ++i) {
    const double value = reals.data_ptr<double>()[i];
    if (!std::isnan(value) && (value != std::floor(value) || std::fabs(value) > 1e9)) {
      return InvalidArgument("label " + std::to_string(value) +
                             "; expected a class (a whole number between -1e9 and 1e9)");
    }
    classes.data_ptr<int64_t>()[i] = std::isnan(value) ? -1 : static_cast<int64_t>(value);
  }
  return classes;
}

Result<torch::Tensor> ToLabels(LossKind kind, const Tensor& tensor, int64_t width) {
  if (kind == LossKind::kCrossEntropy) return ToClasses(tensor);
  ASSIGN_OR_RETURN(torch::Tensor values, ToFloats(tensor));
  values = values.reshape({tensor.num_rows(), width});
  if (kind != LossKind::kBinaryCrossEntropy) return values;
  return values.masked_fill(values == -1, std::numeric_limits<float>::quiet_NaN());
}

Result<NodeTypeId> FindNodeType(const std::string& name, const GraphSchema& schema, const char* field) {
  return (name.empty() ? schema.OnlyNodeType() : schema.FindNodeType(name)).While(field);
}

Result<NodeData> NodeData::Make(const job::Training& training, const GraphSchema& schema, sampler::RowSource& rows) {
  ASSIGN_OR_RETURN(NodeData data, MakeInputs(training, schema, rows));
  RETURN_IF_ERROR(data.SetLabel(training, schema));
  data.seed_types_ = {data.seed_type_};
  return data;
}

Result<NodeData> NodeData::MakeInputs(const job::Training& training, const GraphSchema& schema,
                                      sampler::RowSource& rows) {
  NodeData data(rows);
  data.inputs_.resize(schema.num_node_types());
  data.feature_widths_.resize(schema.num_node_types(), 0);
  data.input_widths_.resize(schema.num_node_types(), 0);
  for (const job::Input& input : training.inputs) RETURN_IF_ERROR(data.AddInput(input, schema));
  return data;
}

void NodeData::SetEdgeTask(std::span<const EdgeTypeId> types, const GraphSchema& schema, int64_t width) {
  seed_type_ = schema.DestinationOf(types.front());
  std::set<NodeTypeId> ends;
  for (const EdgeTypeId type : types) ends.insert({schema.SourceOf(type), schema.DestinationOf(type)});
  seed_types_.assign(ends.begin(), ends.end());
  has_labels_ = false;
  num_outputs_ = width;
}

Status NodeData::AddInput(const job::Input& input, const GraphSchema& schema) {
  ASSIGN_OR_RETURN(const NodeTypeId type, FindNodeType(input.node_type, schema, "spec.training.inputs.nodeType"));
  for (const std::string& name : input.features) {
    auto found = FindColumn(rows_->columns(), type, name, schema).While("spec.training.inputs.features");
    if (!found.ok()) return std::move(found).status();
    inputs_[type.value].push_back({name, CountValuesPerRow(*found)});
    feature_widths_[type.value] += CountValuesPerRow(*found);
  }
  input_widths_[type.value] =
      feature_widths_[type.value] + (input.embedding.has_value() ? input.embedding->size : int64_t{0});
  return Status();
}

Status NodeData::SetLabel(const job::Training& training, const GraphSchema& schema) {
  const job::Task& task = training.task;
  ASSIGN_OR_RETURN(seed_type_, FindNodeType(task.node_type, schema, "spec.training.task.nodeType"));
  loss_kind_ = ToLossKind(task);
  auto found = FindColumn(rows_->columns(), seed_type_, task.label, schema).While("spec.training.task.label");
  has_labels_ = found.ok();
  if (!has_labels_ && OnlyInfers(training)) return Status();
  if (!found.ok()) return std::move(found).status();
  label_ = task.label;
  label_width_ = CountValuesPerRow(*found);
  if (loss_kind_ == LossKind::kCrossEntropy && label_width_ != 1) {
    return InvalidArgument("spec.training.task.label: column '" + label_ + "' has " + std::to_string(label_width_) +
                           " values per node; expected one class (or multiLabel: true)");
  }
  return Status();
}

Status NodeData::AddLabels(const sampler::SeedQuery& part, sampler::SeedSource& seeds, Rank rank, uint32_t num_ranks,
                           std::chrono::seconds timeout, LabelCensus* census) const {
  ASSIGN_OR_RETURN(const uint64_t count, seeds.Count(part.node_type, part.split, part.part));
  sampler::SeedQuery query = part;
  for (uint64_t chunk = rank.value; chunk * part.batch_size < count; chunk += num_ranks) {
    const Deadline deadline = Deadline::After(timeout);
    query.step = static_cast<uint32_t>(chunk);
    ASSIGN_OR_RETURN(const sampler::GlobalBatch batch, seeds.SeedsOfStep(query, deadline));
    ASSIGN_OR_RETURN(const torch::Tensor labels, Labels(batch.seeds, deadline));
    const int64_t largest =
        loss_kind_ == LossKind::kCrossEntropy && labels.numel() > 0 ? labels.max().item<int64_t>() : int64_t{-1};
    if (largest >= job::kMaxLabelClasses) {
      return InvalidArgument("column '" + label_ + "' has labels up to " + std::to_string(largest) +
                             "; expected classes below " + std::to_string(job::kMaxLabelClasses));
    }
    census->Add(part.part, labels);
  }
  return Status();
}

Result<LabelCensus> NodeData::CountOutputs(const std::string& split, sampler::SeedSource& seeds,
                                           collective::Collective& collective, std::chrono::seconds timeout) {
  LabelCensus census(loss_kind_, split, label_, "node");
  if (!has_labels_) return census;
  constexpr uint64_t kMaxChunkNodes = uint64_t{1} << 16;
  constexpr uint64_t kMaxChunkValues = uint64_t{1} << 22;
  const uint64_t chunk = std::clamp<uint64_t>(
      kMaxChunkValues / std::max<uint64_t>(1, static_cast<uint64_t>(label_width_)), 1, kMaxChunkNodes);
  Status counted;
  for (const auto part :
       {graph::SplitPartName::kTrain, graph::SplitPartName::kValidation, graph::SplitPartName::kTest}) {
    const sampler::SeedQuery query{
        .node_type = seed_type_, .split = split, .part = part, .shuffle = false, .batch_size = chunk};
    counted = AddLabels(query, seeds, collective.rank(), collective.size(), timeout, &census);
    if (!counted.ok()) break;
  }
  RETURN_IF_ERROR(collective::AgreeOn(counted, collective, timeout).While("counting labels"));
  RETURN_IF_ERROR(census.MergeOverRanks(collective, timeout));
  RETURN_IF_ERROR(census.CheckTraining());
  if (loss_kind_ == LossKind::kCrossEntropy && census.num_classes() == 0) {
    return InvalidArgument("no node of split '" + split + "' has a label in '" + label_ + "'");
  }
  num_outputs_ = loss_kind_ == LossKind::kCrossEntropy ? census.num_classes() : label_width_;
  return census;
}

Status NodeData::SetOutputs(int64_t num_outputs) {
  if (has_labels_ && loss_kind_ == LossKind::kCrossEntropy && num_outputs < num_outputs_) {
    return InvalidArgument("the model has " + std::to_string(num_outputs) + " outputs, but column '" + label_ +
                           "' has classes up to " + std::to_string(num_outputs_ - 1));
  }
  if (has_labels_ && loss_kind_ != LossKind::kCrossEntropy && num_outputs != label_width_) {
    return InvalidArgument("the model has " + std::to_string(num_outputs) + " outputs, but column '" + label_ +
                           "' has " + std::to_string(label_width_) + " values per node");
  }
  num_outputs_ = num_outputs;
  return Status();
}

std::vector<ColumnDescription> NodeData::BatchColumns() const {
  std::vector<ColumnDescription> columns;
  for (const ColumnDescription& column : rows_->columns()) {
    const std::vector<InputColumn>& inputs = inputs_[column.node_type.value];
    const bool is_input =
        std::any_of(inputs.begin(), inputs.end(), [&](const InputColumn& input) { return input.name == column.name; });
    if (is_input || column.name == sampler::kOriginalIdColumn) columns.push_back(column);
  }
  return columns;
}

NodeData NodeData::WithRowSource(sampler::RowSource& rows) const {
  NodeData copy = *this;
  copy.rows_ = &rows;
  return copy;
}

Result<torch::Tensor> NodeData::Column(NodeTypeId type, const std::string& name, std::span<const GlobalNodeId> nodes,
                                       Deadline deadline) const {
  ASSIGN_OR_RETURN(const Tensor rows,
                   sampler::GatherValues(*rows_, type, name, nodes, deadline, at::get_num_threads()));
  return ToFloats(rows);
}

Result<torch::Tensor> NodeData::Features(NodeTypeId type, std::span<const GlobalNodeId> nodes,
                                         Deadline deadline) const {
  const auto num_rows = static_cast<int64_t>(nodes.size());
  const std::vector<InputColumn>& columns = inputs_[type.value];
  if (columns.size() == 1) {
    ASSIGN_OR_RETURN(const torch::Tensor rows, Column(type, columns[0].name, nodes, deadline));
    return rows.reshape({num_rows, columns[0].width});
  }
  torch::Tensor features = torch::empty({num_rows, feature_widths_[type.value]}, torch::kFloat);
  int64_t first = 0;
  for (const InputColumn& column : columns) {
    ASSIGN_OR_RETURN(const torch::Tensor rows, Column(type, column.name, nodes, deadline));
    features.narrow(1, first, column.width).copy_(rows.reshape({num_rows, column.width}));
    first += column.width;
  }
  return features;
}

Result<GraphDegrees> NodeData::Degrees(const std::vector<std::vector<GlobalNodeId>>& nodes,
                                       std::span<const uint32_t> num_written, Deadline deadline) const {
  return degrees_.has_value() ? degrees_->Fetch(nodes, num_written, deadline) : GraphDegrees();
}

Result<torch::Tensor> NodeData::Inputs(NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) const {
  ASSIGN_OR_RETURN(const torch::Tensor features, Features(type, nodes, deadline));
  return WithLearnable(type, features, nodes, deadline);
}

Result<torch::Tensor> NodeData::WithLearnable(NodeTypeId type, const torch::Tensor& features,
                                              std::span<const GlobalNodeId> nodes, Deadline deadline) const {
  if (learnable_ == nullptr || learnable_->width(type) == 0) return features;
  ASSIGN_OR_RETURN(const torch::Tensor rows, learnable_->Read(type, nodes, deadline));
  return ConcatenateColumns(features, rows);
}

Result<torch::Tensor> NodeData::Labels(std::span<const GlobalNodeId> nodes, Deadline deadline) const {
  ASSIGN_OR_RETURN(const Tensor rows,
                   sampler::GatherValues(*rows_, seed_type_, label_, nodes, deadline, at::get_num_threads()));
  return ToLabels(loss_kind_, rows, label_width_).While("column '" + label_ + "'");
}

Result<torch::Tensor> NodeData::OriginalIds(NodeTypeId type, std::span<const GlobalNodeId> nodes,
                                            Deadline deadline) const {
  ASSIGN_OR_RETURN(const Tensor rows, rows_->GatherRows(type, sampler::kOriginalIdColumn, nodes, deadline));
  if (rows.dtype() == DType::kU64) return View(rows, torch::kInt64);  // ids are far below 2^63
  return ToClasses(rows);
}

}  // namespace espalier::trainer
