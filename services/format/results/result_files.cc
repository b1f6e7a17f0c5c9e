#include "services/format/results/result_files.h"

#include "services/base/hash.h"
#include "services/format/files/checksum.h"
#include "services/storage/object_key.h"

namespace espalier::format {

std::vector<int64_t> ArrayShape(int64_t rows, const std::vector<int64_t>& row_shape) {
  std::vector<int64_t> shape = {rows};
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  return shape;
}

nlohmann::ordered_json ResultArrayJson(const FileEntry& entry, const std::string& folder, DType dtype,
                                       const std::vector<int64_t>& shape) {
  nlohmann::ordered_json hashes = nlohmann::ordered_json::array();
  for (const uint64_t hash : entry.block_hashes) hashes.push_back(ToHex(hash));
  return {{"file", entry.key.substr(folder.size() + 1)},
          {"dtype", ToString(dtype)},
          {"shape", shape},
          {"size_bytes", entry.size_bytes},
          {"xxh3_64", hashes}};
}

Result<OutputFile> PutResultManifest(storage::ObjectStore& store, const std::string& folder, const std::string& kind,
                                     const nlohmann::ordered_json& manifest) {
  const std::string text = manifest.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const std::string key = storage::JoinKey(folder, "manifest.json");
  ASSIGN_OR_RETURN(std::unique_ptr<storage::ObjectWriter> object, store.Put(key));
  HashingWriter writer(std::move(object));
  RETURN_IF_ERROR(writer.Write(std::as_bytes(std::span(text))));
  RETURN_IF_ERROR(writer.Commit());
  return OutputFile{writer.Entry(key), kind, std::nullopt, {}};
}

}  // namespace espalier::format
