#include "services/trainer/results/chosen_nodes.h"

#include <algorithm>

#include "services/base/tensor.h"
#include "services/format/files/npy_header.h"
#include "services/storage/object_key.h"

namespace espalier::trainer {
namespace {

// Returns the ids of a file. InvalidArgument: the file is not a vector of integers, or an id is not in [0, num_nodes).
Result<std::vector<OriginalNodeId>> ReadIds(const std::string& file, uint64_t num_nodes) {
  ASSIGN_OR_RETURN(const format::NpyHeader header, format::ParseNpyHeader(std::as_bytes(std::span(file))));
  if (header.shape.size() != 1 || IsFloating(header.dtype) || header.dtype == DType::kBool) {
    return InvalidArgument(std::string("expected integers [n], found ") + ToString(header.dtype) + " with " +
                           std::to_string(header.shape.size()) + " dimensions");
  }
  ASSIGN_OR_RETURN(const int64_t count, CheckedElementCount(header.shape, ItemSize(header.dtype)));
  const size_t bytes = static_cast<size_t>(count) * ItemSize(header.dtype);
  if (file.size() < header.data_offset || file.size() - header.data_offset != bytes) {
    return InvalidArgument("expected " + std::to_string(header.data_offset) + " bytes of header and " +
                           std::to_string(bytes) + " bytes of ids, found " + std::to_string(file.size()) + " bytes");
  }
  // The bytes are copied, so that the elements are aligned.
  Tensor ids = Tensor::Zeros(header.dtype, header.shape);
  std::copy_n(reinterpret_cast<const std::byte*>(file.data()) + header.data_offset, bytes, ids.mutable_bytes());
  std::vector<OriginalNodeId> chosen;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = ids.ValueAsInt(i);
    if (id < 0 || static_cast<uint64_t>(id) >= num_nodes) {
      return InvalidArgument("id " + std::to_string(id) + " at row " + std::to_string(i) + " is out of range [0, " +
                             std::to_string(num_nodes) + ")");
    }
    chosen.emplace_back(static_cast<uint64_t>(id));
  }
  return chosen;
}

Status CheckDistinct(std::vector<OriginalNodeId> ids) {
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  return twice == ids.end() ? Status() : InvalidArgument("id " + std::to_string(twice->value) + " occurs twice");
}

}  // namespace

Result<ChosenNodes> ReadChosenNodes(const storage::StoreLocation& folder, const graph::PartitionBook& book) {
  const graph::GraphSchema& schema = book.schema();
  const std::string where = folder.store->Describe() + "/";
  ChosenNodes chosen;
  std::string names;
  for (uint16_t type = 0; type < schema.num_node_types(); ++type) {
    const std::string key = storage::JoinKey(folder.prefix, schema.NodeTypeName(NodeTypeId(type)) + ".npy");
    names += (names.empty() ? "" : ", ") + schema.NodeTypeName(NodeTypeId(type)) + ".npy";
    const Result<std::string> file = folder.store->Get(key);
    if (!file.ok() && file.status().code() == StatusCode::kNotFound) continue;
    if (!file.ok()) return file.status().While("reading the chosen nodes");
    ASSIGN_OR_RETURN(std::vector<OriginalNodeId> ids,
                     ReadIds(*file, book.num_nodes(NodeTypeId(type))).While(where + key));
    RETURN_IF_ERROR(CheckDistinct(ids).While(where + key));
    chosen[NodeTypeId(type)] = std::move(ids);
  }
  if (!chosen.empty()) return chosen;
  return NotFound(where + folder.prefix + " has none of " + names);
}

}  // namespace espalier::trainer
