#include "services/format/results/node_results.h"

#include "services/format/results/result_files.h"
#include "services/graph/schema.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

using Json = nlohmann::ordered_json;

// NumPy has no bfloat16.
DType StoredDType(DType dtype) { return dtype == DType::kBF16 ? DType::kF32 : dtype; }

Tensor WidenBFloat16(const Tensor& tensor) {
  if (tensor.dtype() != DType::kBF16) return tensor;
  Tensor widened = Tensor::Zeros(DType::kF32, tensor.shape());
  const auto* bits = reinterpret_cast<const uint16_t*>(tensor.bytes());
  const std::span<float> values = widened.mutable_values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = BFloat16ToFloat(bits[i]);
  return widened;
}

}  // namespace

NodeResultsWriter::NodeResultsWriter(storage::ObjectStore& store, std::string prefix, std::string kind,
                                     std::map<std::string, std::string> attributes)
    : store_(store),
      folder_(storage::JoinKey(prefix, kind)),
      kind_(std::move(kind)),
      attributes_(std::move(attributes)) {}

Status NodeResultsWriter::Begin(const NodeResultShape& shape) {
  RETURN_IF_ERROR(EndType());
  RETURN_IF_ERROR(graph::CheckName("node type", shape.node_type));
  if (IsFloating(shape.id_dtype) || shape.id_dtype == DType::kBool) {
    return InvalidArgument("results of '" + shape.node_type + "': ids are " + ToString(shape.id_dtype) +
                           "; expected integers");
  }
  const std::string folder = storage::JoinKey(folder_, shape.node_type);
  const auto rows = static_cast<int64_t>(shape.rows);
  ASSIGN_OR_RETURN(NpyWriter ids, NpyWriter::Open(store_, folder + "/ids.npy", shape.id_dtype, {rows}));
  ASSIGN_OR_RETURN(NpyWriter values, NpyWriter::Open(store_, folder + "/values.npy", StoredDType(shape.value_dtype),
                                                     ArrayShape(rows, shape.row_shape)));
  open_.emplace(Open{shape, std::move(ids), std::move(values)});
  return Status();
}

Status NodeResultsWriter::Append(const Tensor& ids, const Tensor& values) {
  if (!open_.has_value()) return InvalidArgument("Append was called before Begin: the rows have no node type");
  const NodeResultShape& shape = open_->shape;
  if (ids.dtype() != shape.id_dtype || ids.shape().size() != 1 || values.dtype() != shape.value_dtype ||
      values.shape() != ArrayShape(ids.num_rows(), shape.row_shape)) {
    std::string row_shape;
    for (const int64_t size : shape.row_shape) row_shape += ", " + std::to_string(size);
    return InvalidArgument("results of '" + shape.node_type + "': expected ids " + ToString(shape.id_dtype) +
                           " [n] and values " + ToString(shape.value_dtype) + " [n" + row_shape + "], found ids " +
                           ids.ToString() + " and values " + values.ToString());
  }
  RETURN_IF_ERROR(open_->ids.Write(ids.byte_span()));
  return open_->values.Write(WidenBFloat16(values).byte_span());
}

Status NodeResultsWriter::EndType() {
  if (!open_.has_value()) return Status();
  const NodeResultShape shape = open_->shape;
  const auto rows = static_cast<int64_t>(shape.rows);
  ASSIGN_OR_RETURN(FileEntry ids, open_->ids.Commit());
  ASSIGN_OR_RETURN(FileEntry values, open_->values.Commit());
  open_.reset();
  Json type = {{"node_type", shape.node_type}, {"rows", rows}};
  type["ids"] = AddFile(std::move(ids), shape.id_dtype, {rows});
  type["values"] = AddFile(std::move(values), StoredDType(shape.value_dtype), ArrayShape(rows, shape.row_shape));
  node_types_.push_back(std::move(type));
  return Status();
}

// Adds a file to files_. Returns the file's entry in the manifest that Commit writes, with a name relative to folder_.
Json NodeResultsWriter::AddFile(FileEntry entry, DType dtype, std::vector<int64_t> shape) {
  Json array = ResultArrayJson(entry, folder_, dtype, shape);
  files_.push_back({std::move(entry), kind_, dtype, std::move(shape)});
  return array;
}

Result<std::vector<OutputFile>> NodeResultsWriter::Commit() {
  RETURN_IF_ERROR(EndType());
  const Json manifest = {{"format", "espalier.node-results"},
                         {"format_version", 1},
                         {"kind", kind_},
                         {"attributes", attributes_.empty() ? Json::object() : Json(attributes_)},
                         {"node_types", node_types_}};
  ASSIGN_OR_RETURN(OutputFile file, PutResultManifest(store_, folder_, kind_, manifest));
  files_.push_back(std::move(file));
  return std::move(files_);
}

}  // namespace espalier::format
