#include "services/format/node_results.h"

#include <nlohmann/json.hpp>

#include "services/base/hash.h"
#include "services/format/npy_writer.h"
#include "services/graph/schema.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

using Json = nlohmann::ordered_json;

Tensor WithoutBFloat16(const Tensor& tensor) {
  if (tensor.dtype() != DType::kBF16) return tensor;
  Tensor widened = Tensor::Zeros(DType::kF32, tensor.shape());
  const auto* bits = reinterpret_cast<const uint16_t*>(tensor.bytes());
  const std::span<float> values = widened.mutable_values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = BFloat16ToFloat(bits[i]);
  return widened;
}

Status CheckResult(const NodeResult& result) {
  RETURN_IF_ERROR(graph::CheckName("node type", result.node_type));
  if (result.ids.shape().size() == 1 && !IsFloating(result.ids.dtype()) && !result.values.shape().empty() &&
      result.values.num_rows() == result.ids.num_rows()) {
    return Status();
  }
  return InvalidArgument("results of '" + result.node_type + "': expected an id for each row, found ids " +
                         result.ids.ToString() + " and values " + result.values.ToString());
}

// Writes one array; its entry in the manifest. `file` is below the kind's folder.
Result<Json> WriteArray(storage::ObjectStore& store, const std::string& folder, const std::string& file,
                        const Tensor& tensor) {
  ASSIGN_OR_RETURN(const FileEntry entry, WriteNpy(store, storage::JoinKey(folder, file), tensor));
  Json hashes = Json::array();
  for (const uint64_t hash : entry.block_hashes) hashes.push_back(HexOf(hash));
  return Json{{"file", file},
              {"dtype", NameOf(tensor.dtype())},
              {"shape", tensor.shape()},
              {"size_bytes", entry.size_bytes},
              {"xxh3_64", hashes}};
}

}  // namespace

Status WriteNodeResults(storage::ObjectStore& store, const std::string& prefix, const std::string& kind,
                        const std::map<std::string, std::string>& attributes, const std::vector<NodeResult>& results) {
  const std::string folder = storage::JoinKey(prefix, kind);
  Json types = Json::array();
  for (const NodeResult& result : results) {
    RETURN_IF_ERROR(CheckResult(result));
    ASSIGN_OR_RETURN(const Json ids, WriteArray(store, folder, result.node_type + "/ids.npy", result.ids));
    ASSIGN_OR_RETURN(const Json values,
                     WriteArray(store, folder, result.node_type + "/values.npy", WithoutBFloat16(result.values)));
    types.push_back(
        {{"node_type", result.node_type}, {"rows", result.ids.num_rows()}, {"ids", ids}, {"values", values}});
  }
  const Json manifest = {{"format", "espalier.node-results"},
                         {"format_version", 1},
                         {"kind", kind},
                         {"attributes", attributes.empty() ? Json::object() : Json(attributes)},
                         {"node_types", types}};
  const std::string text = manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  ASSIGN_OR_RETURN(const auto writer, store.Put(storage::JoinKey(folder, "manifest.json")));
  RETURN_IF_ERROR(writer->Write(std::as_bytes(std::span(text))));
  return writer->Commit();
}

}  // namespace espalier::format
