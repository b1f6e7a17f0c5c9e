#include "services/format/files/npy_writer.h"

#include "services/format/files/npy_header.h"

namespace espalier::format {

Result<NpyWriter> NpyWriter::Open(storage::ObjectStore& store, const std::string& key, DType dtype,
                                  const std::vector<int64_t>& shape) {
  const std::string writing = "writing " + key;
  ASSIGN_OR_RETURN(const int64_t num_elements, CheckedElementCount(shape, ItemSize(dtype)).While(writing));
  if (dtype == DType::kBF16) return InvalidArgument(writing + ": NumPy has no bfloat16: convert to F32");
  ASSIGN_OR_RETURN(const std::string header, FormatNpyHeader(dtype, shape).While(writing));
  ASSIGN_OR_RETURN(std::unique_ptr<storage::ObjectWriter> object, store.Put(key));
  auto writer = std::make_unique<HashingWriter>(std::move(object));
  RETURN_IF_ERROR(writer->Write(std::as_bytes(std::span(header))));
  return NpyWriter(key, std::move(writer), static_cast<uint64_t>(num_elements) * ItemSize(dtype));
}

Status NpyWriter::Write(std::span<const std::byte> elements) {
  if (elements.size() > bytes_missing_) {
    return InvalidArgument("writing " + key_ + ": " + std::to_string(elements.size() - bytes_missing_) +
                           " bytes more than the array's size");
  }
  bytes_missing_ -= elements.size();
  return elements.empty() ? Status() : writer_->Write(elements);
}

Result<FileEntry> NpyWriter::Commit() {
  if (bytes_missing_ > 0) {
    return InvalidArgument("writing " + key_ + ": the array's last " + std::to_string(bytes_missing_) +
                           " bytes are missing");
  }
  RETURN_IF_ERROR(writer_->Commit());
  return writer_->Entry(key_);
}

Result<FileEntry> WriteNpy(storage::ObjectStore& store, const std::string& key, const Tensor& tensor) {
  ASSIGN_OR_RETURN(NpyWriter writer, NpyWriter::Open(store, key, tensor.dtype(), tensor.shape()));
  RETURN_IF_ERROR(writer.Write(tensor.byte_span()));
  return writer.Commit();
}

}  // namespace espalier::format
