#include "services/format/npy_writer.h"

namespace espalier::format {
namespace {

constexpr size_t kAlignment = 64;      // of the data, as in files that NumPy writes
constexpr size_t kPreambleBytes = 10;  // magic, version, length of the header

Result<std::string> ToDescriptor(DType dtype) {
  switch (dtype) {
    case DType::kBool: return std::string("|b1");
    case DType::kU8: return std::string("|u1");
    case DType::kI8: return std::string("|i1");
    case DType::kU16: return std::string("<u2");
    case DType::kI16: return std::string("<i2");
    case DType::kU32: return std::string("<u4");
    case DType::kI32: return std::string("<i4");
    case DType::kU64: return std::string("<u8");
    case DType::kI64: return std::string("<i8");
    case DType::kF16: return std::string("<f2");
    case DType::kF32: return std::string("<f4");
    case DType::kF64: return std::string("<f8");
    case DType::kBF16: break;
  }
  return InvalidArgument("NumPy has no bfloat16: convert to F32");
}

// Formats a shape as a Python tuple: "()", "(3,)", "(3, 4)".
std::string FormatTuple(const std::vector<int64_t>& shape) {
  std::string tuple = "(";
  for (size_t i = 0; i < shape.size(); ++i) tuple += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return tuple + (shape.size() == 1 ? ",)" : ")");
}

Result<std::string> Header(DType dtype, const std::vector<int64_t>& shape) {
  ASSIGN_OR_RETURN(const std::string descriptor, ToDescriptor(dtype));
  std::string dictionary =
      "{'descr': '" + descriptor + "', 'fortran_order': False, 'shape': " + FormatTuple(shape) + ", }";
  while ((kPreambleBytes + dictionary.size() + 1) % kAlignment != 0) dictionary += ' ';
  dictionary += '\n';
  if (dictionary.size() > 0xFFFF) return InvalidArgument("the tensor has too many dimensions for a .npy 1.0 header");
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(dictionary.size() & 0xFF);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace

Result<NpyWriter> NpyWriter::Open(storage::ObjectStore& store, const std::string& key, DType dtype,
                                  const std::vector<int64_t>& shape) {
  const std::string writing = "writing " + key;
  ASSIGN_OR_RETURN(const int64_t num_elements, CheckedElementCount(shape, ItemSize(dtype)).While(writing));
  ASSIGN_OR_RETURN(const std::string header, Header(dtype, shape).While(writing));
  ASSIGN_OR_RETURN(std::unique_ptr<storage::ObjectWriter> object, store.Put(key));
  auto writer = std::make_unique<HashingWriter>(std::move(object));
  RETURN_IF_ERROR(writer->Write(std::as_bytes(std::span(header))));
  return NpyWriter(key, std::move(writer), static_cast<uint64_t>(num_elements) * ItemSize(dtype));
}

Status NpyWriter::Write(std::span<const std::byte> elements) {
  if (elements.size() > bytes_missing_) {
    return InvalidArgument("writing " + key_ + ": " + std::to_string(elements.size() - bytes_missing_) +
                           " bytes more than the array has room for");
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
