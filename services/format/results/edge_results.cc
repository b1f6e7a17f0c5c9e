#include "services/format/results/edge_results.h"

#include "services/format/results/result_files.h"
#include "services/graph/schema.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

using Json = nlohmann::ordered_json;

bool AreIds(const Tensor& ids, int64_t rows) {
  return ids.dtype() == DType::kU64 && ids.shape() == std::vector<int64_t>{rows};
}

}  // namespace

EdgeResultsWriter::EdgeResultsWriter(storage::ObjectStore& store, std::string prefix, std::string kind,
                                     std::string edge_type, std::string split,
                                     std::map<std::string, std::string> attributes)
    : store_(store),
      folder_(storage::JoinKey(prefix, kind)),
      kind_(std::move(kind)),
      edge_type_(std::move(edge_type)),
      split_(std::move(split)),
      attributes_(std::move(attributes)) {}

Status EdgeResultsWriter::Begin(const EdgeResultShape& shape) {
  RETURN_IF_ERROR(EndPart());
  RETURN_IF_ERROR(graph::CheckName("part", shape.part));
  const std::string folder = storage::JoinKey(folder_, shape.part);
  const auto rows = static_cast<int64_t>(shape.rows);
  ASSIGN_OR_RETURN(NpyWriter sources, NpyWriter::Open(store_, folder + "/sources.npy", DType::kU64, {rows}));
  ASSIGN_OR_RETURN(NpyWriter destinations, NpyWriter::Open(store_, folder + "/destinations.npy", DType::kU64, {rows}));
  ASSIGN_OR_RETURN(NpyWriter values, NpyWriter::Open(store_, folder + "/values.npy", shape.value_dtype,
                                                     ArrayShape(rows, shape.row_shape)));
  open_.emplace(Open{shape, std::move(sources), std::move(destinations), std::move(values)});
  return Status();
}

Status EdgeResultsWriter::Append(const Tensor& sources, const Tensor& destinations, const Tensor& values) {
  if (!open_.has_value()) return InvalidArgument("Append was called before Begin: the rows belong to no part");
  const EdgeResultShape& shape = open_->shape;
  const int64_t rows = sources.num_rows();
  if (!AreIds(sources, rows) || !AreIds(destinations, rows) || values.dtype() != shape.value_dtype ||
      values.shape() != ArrayShape(rows, shape.row_shape)) {
    return InvalidArgument("results of the part '" + shape.part +
                           "': expected for each row U64 ids of both endpoints and a value of the dtype and shape "
                           "given to Begin, found sources " +
                           sources.ToString() + ", destinations " + destinations.ToString() + " and values " +
                           values.ToString());
  }
  RETURN_IF_ERROR(open_->sources.Write(sources.byte_span()));
  RETURN_IF_ERROR(open_->destinations.Write(destinations.byte_span()));
  return open_->values.Write(values.byte_span());
}

Status EdgeResultsWriter::EndPart() {
  if (!open_.has_value()) return Status();
  const EdgeResultShape shape = open_->shape;
  const auto rows = static_cast<int64_t>(shape.rows);
  ASSIGN_OR_RETURN(FileEntry sources, open_->sources.Commit());
  ASSIGN_OR_RETURN(FileEntry destinations, open_->destinations.Commit());
  ASSIGN_OR_RETURN(FileEntry values, open_->values.Commit());
  open_.reset();
  Json part = {{"part", shape.part}, {"rows", rows}};
  part["sources"] = AddFile(std::move(sources), DType::kU64, {rows});
  part["destinations"] = AddFile(std::move(destinations), DType::kU64, {rows});
  part["values"] = AddFile(std::move(values), shape.value_dtype, ArrayShape(rows, shape.row_shape));
  parts_.push_back(std::move(part));
  return Status();
}

nlohmann::ordered_json EdgeResultsWriter::AddFile(FileEntry entry, DType dtype, std::vector<int64_t> shape) {
  Json json = ResultArrayJson(entry, folder_, dtype, shape);
  files_.push_back({std::move(entry), kind_, dtype, std::move(shape)});
  return json;
}

Result<std::vector<OutputFile>> EdgeResultsWriter::Commit() {
  RETURN_IF_ERROR(EndPart());
  const Json manifest = {{"format", "espalier.edge-results"},
                         {"format_version", 1},
                         {"kind", kind_},
                         {"edge_type", edge_type_},
                         {"split", split_},
                         {"attributes", attributes_.empty() ? Json::object() : Json(attributes_)},
                         {"parts", parts_}};
  ASSIGN_OR_RETURN(OutputFile file, PutResultManifest(store_, folder_, kind_, manifest));
  files_.push_back(std::move(file));
  return std::move(files_);
}

}  // namespace espalier::format
