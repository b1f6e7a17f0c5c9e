#include "services/partitioner/group/tensor_bundle.h"

#include <memory>

#include "services/format/files/checksum.h"
#include "services/format/files/mapped_file.h"
#include "services/format/files/safetensors.h"
#include "services/storage/object_key.h"

namespace espalier::partitioner {
namespace {

Status CheckSize(const std::string& key, uint64_t num_bytes, const format::FileEntry& entry) {
  if (num_bytes == entry.size_bytes) return Status();
  return DataLoss(key + " has " + std::to_string(num_bytes) + " bytes, expected " + std::to_string(entry.size_bytes));
}

}  // namespace

Result<format::FileEntry> WriteBundle(const BundlePlace& place, const std::string& name, TensorBundle tensors) {
  const std::string key = place.folder + "/" + name + ".safetensors";
  ASSIGN_OR_RETURN(std::unique_ptr<storage::ObjectWriter> object, place.store.Put(storage::JoinKey(place.prefix, key)));
  format::HashingWriter writer(std::move(object));
  RETURN_IF_ERROR(format::WriteSafetensors({.tensors = std::move(tensors), .metadata = {}}, writer));
  RETURN_IF_ERROR(writer.Commit());
  return writer.Entry(key);
}

Result<TensorBundle> ReadBundle(const BundlePlace& place, const format::FileEntry& entry) {
  const std::string key = storage::JoinKey(place.prefix, entry.key);
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  if (const std::optional<std::string> path = place.store.LocalPath(key)) {
    ASSIGN_OR_RETURN(const auto mapped, format::MappedFile::Open(*path, entry.size_bytes));
    bytes = mapped->bytes();
    owner = mapped;
  } else {
    ASSIGN_OR_RETURN(const storage::ObjectInfo info, place.store.Head(key));
    RETURN_IF_ERROR(CheckSize(key, info.size_bytes, entry));  // before memory is allocated for the object
    ASSIGN_OR_RETURN(std::string text, place.store.Get(key));
    const auto shared = std::make_shared<const std::string>(std::move(text));
    bytes = std::as_bytes(std::span(*shared));
    owner = shared;
  }
  RETURN_IF_ERROR(CheckSize(key, bytes.size(), entry));
  RETURN_IF_ERROR(format::CheckBlocks(entry, bytes, key, /*threads=*/1));
  ASSIGN_OR_RETURN(format::Safetensors content,
                   format::ReadSafetensors(bytes, std::move(owner)).While("reading " + key));
  return std::move(content.tensors);
}

Result<Tensor> TakeTensor(const TensorBundle& bundle, const format::FileEntry& entry, const std::string& name,
                          DType dtype, const std::vector<int64_t>& shape) {
  const auto found = bundle.find(name);
  if (found == bundle.end()) return DataLoss(entry.key + " has no tensor '" + name + "'");
  if (found->second.dtype() == dtype && found->second.shape() == shape) return found->second;
  // The expected tensor is made without data, because its size could exceed the memory.
  const std::string expected = Tensor::Wrap(dtype, shape, nullptr, nullptr).ToString();
  return DataLoss(entry.key + ": tensor '" + name + "' is " + found->second.ToString() + ", expected " + expected);
}

}  // namespace espalier::partitioner
