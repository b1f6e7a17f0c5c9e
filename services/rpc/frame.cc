#include "services/rpc/frame.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "services/base/buffer_pool.h"

namespace espalier::rpc {
namespace {

constexpr size_t kPrefixBytes = sizeof(uint32_t);
// Tensors up to this size are copied behind the header: one slice costs less than two.
constexpr size_t kInlineTensorBytes = 4096;
// Tensors of at least this size are received into pooled memory.
constexpr size_t kPooledTensorBytes = 65536;

void StoreLittleEndian(uint32_t value, char* out) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<char>(value >> (8 * i));
}

uint32_t LoadLittleEndian(const std::byte* bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::to_integer<uint32_t>(bytes[i]) << (8 * i);
  return value;
}

// Returns a slice that refers to the memory of the tensor and keeps it alive until gRPC has sent it.
grpc::Slice ToSlice(const Tensor& tensor) {
  auto* owner = new Tensor(tensor);
  return grpc::Slice(
      const_cast<std::byte*>(owner->bytes()), owner->size_bytes(),
      [](void* held) { delete static_cast<Tensor*>(held); }, owner);
}

const std::byte* ToBytes(const grpc::Slice& slice) { return reinterpret_cast<const std::byte*>(slice.begin()); }

// Memory for tensors that arrive in several slices. Never destroyed: threads may read messages until the process exits.
BufferPool& MessageBuffers() {
  constexpr size_t kMaxIdleBytes = size_t{64} << 20;
  static auto* const buffers = new BufferPool(kMaxIdleBytes);
  return *buffers;
}

}  // namespace

void DescribeTensors(std::span<const Tensor> tensors, TensorHeaders* headers) {
  headers->Clear();
  for (const Tensor& tensor : tensors) {
    tensor::v1::TensorHeader* header = headers->Add();
    header->set_dtype(static_cast<uint32_t>(tensor.dtype()));
    header->mutable_shape()->Add(tensor.shape().begin(), tensor.shape().end());
  }
}

grpc::ByteBuffer EncodeFrameBytes(const google::protobuf::MessageLite& header, std::span<const Tensor> tensors) {
  std::string head(kPrefixBytes, '\0');
  ESPALIER_CHECK(header.AppendToString(&head)) << "a required field of the header is missing";
  ESPALIER_CHECK(head.size() - kPrefixBytes <= kMaxHeaderBytes)
      << "the header is too large: bulk data belongs in tensors";
  StoreLittleEndian(static_cast<uint32_t>(head.size() - kPrefixBytes), head.data());

  std::vector<grpc::Slice> slices;
  for (const Tensor& tensor : tensors) {
    if (tensor.size_bytes() == 0) continue;
    if (tensor.size_bytes() <= kInlineTensorBytes) {
      head.append(reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
      continue;
    }
    if (!head.empty()) slices.emplace_back(head);
    head.clear();
    slices.push_back(ToSlice(tensor));
  }
  if (!head.empty()) slices.emplace_back(head);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

Result<FrameReader> FrameReader::Open(const grpc::ByteBuffer& message) {
  FrameReader reader;
  if (!message.Valid() || !message.Dump(&reader.slices_).ok()) return InvalidArgument("message without a body");
  for (const grpc::Slice& slice : reader.slices_) reader.remaining_bytes_ += slice.size();
  if (reader.remaining_bytes_ < kPrefixBytes) {
    return InvalidArgument("message of " + std::to_string(reader.remaining_bytes_) +
                           " bytes: expected at least the 4 bytes of the header length");
  }
  std::byte prefix[kPrefixBytes];
  reader.CopyBytes(prefix, kPrefixBytes);
  reader.header_bytes_ = LoadLittleEndian(prefix);
  if (reader.header_bytes_ > kMaxHeaderBytes || reader.header_bytes_ > reader.remaining_bytes_) {
    return InvalidArgument("header of " + std::to_string(reader.header_bytes_) + " bytes in a message with " +
                           std::to_string(reader.remaining_bytes_) + " bytes after its length (at most " +
                           std::to_string(kMaxHeaderBytes) + " are allowed)");
  }
  return reader;
}

Status FrameReader::ReadHeader(google::protobuf::MessageLite* header) {
  std::string bytes(header_bytes_, '\0');
  CopyBytes(reinterpret_cast<std::byte*>(bytes.data()), bytes.size());
  // Protobuf logs invalid UTF-8 to stderr; a peer must not be able to trigger that.
  const google::protobuf::LogSilencer silencer;
  if (!header->ParseFromString(bytes)) {
    return InvalidArgument("the header of " + std::to_string(bytes.size()) + " bytes is not a valid " +
                           header->GetTypeName());
  }
  return Status();
}

void FrameReader::SkipFinishedSlices() {
  while (slice_ < slices_.size() && offset_bytes_ == slices_[slice_].size()) {
    ++slice_;
    offset_bytes_ = 0;
  }
}

std::span<const std::byte> FrameReader::TakePiece(size_t max_bytes) {
  const size_t wanted_bytes = std::min(max_bytes, remaining_bytes_);
  if (wanted_bytes == 0) return {};
  SkipFinishedSlices();
  const grpc::Slice& slice = slices_[slice_];
  const std::span<const std::byte> piece(ToBytes(slice) + offset_bytes_,
                                         std::min(wanted_bytes, slice.size() - offset_bytes_));
  offset_bytes_ += piece.size();
  remaining_bytes_ -= piece.size();
  return piece;
}

void FrameReader::CopyBytes(std::byte* out, size_t size_bytes) {
  ESPALIER_CHECK(size_bytes <= remaining_bytes_) << "size_bytes exceeds remaining()";
  while (size_bytes > 0) {
    const std::span<const std::byte> piece = TakePiece(size_bytes);
    std::memcpy(out, piece.data(), piece.size());
    out += piece.size();
    size_bytes -= piece.size();
  }
}

Result<Tensor> FrameReader::ReadTensor(const tensor::v1::TensorHeader& header) {
  if (header.dtype() > 0xff || !IsValidDType(static_cast<uint8_t>(header.dtype()))) {
    return InvalidArgument("unknown dtype number " + std::to_string(header.dtype()));
  }
  const DType dtype = static_cast<DType>(header.dtype());
  std::vector<int64_t> shape(header.shape().begin(), header.shape().end());
  const Result<int64_t> count = CheckedElementCount(shape, ItemSize(dtype));
  if (!count.ok()) return InvalidArgument(count.status().message());
  const size_t size_bytes = static_cast<size_t>(*count) * ItemSize(dtype);
  if (size_bytes > remaining_bytes_) {
    return InvalidArgument("tensor of " + std::to_string(size_bytes) + " bytes, but the message has only " +
                           std::to_string(remaining_bytes_) + " bytes left");
  }
  if (size_bytes == 0) return Tensor::Zeros(dtype, std::move(shape));

  SkipFinishedSlices();
  const std::byte* data = ToBytes(slices_[slice_]) + offset_bytes_;
  const bool is_contiguous = size_bytes <= slices_[slice_].size() - offset_bytes_;
  if (is_contiguous && reinterpret_cast<uintptr_t>(data) % ItemSize(dtype) == 0) {
    // Short slices store their bytes inline: the view must refer to the bytes of the copied slice.
    auto owner = std::make_shared<grpc::Slice>(slices_[slice_]);
    const std::byte* kept = ToBytes(*owner) + offset_bytes_;
    if (reinterpret_cast<uintptr_t>(kept) % ItemSize(dtype) == 0) {
      offset_bytes_ += size_bytes;
      remaining_bytes_ -= size_bytes;
      return Tensor::Wrap(dtype, std::move(shape), kept, std::move(owner));
    }
  }
  if (size_bytes < kPooledTensorBytes) {
    Tensor tensor = Tensor::Uninitialized(dtype, std::move(shape));
    CopyBytes(tensor.mutable_bytes(), size_bytes);
    return tensor;
  }
  const std::shared_ptr<std::byte> bytes = MessageBuffers().Take(size_bytes);
  CopyBytes(bytes.get(), size_bytes);
  return Tensor::Wrap(dtype, std::move(shape), bytes.get(), bytes);
}

Result<std::vector<Tensor>> ReadTensors(const TensorHeaders& headers, FrameReader& reader) {
  std::vector<Tensor> tensors;
  tensors.reserve(static_cast<size_t>(headers.size()));
  for (const tensor::v1::TensorHeader& header : headers) {
    Result<Tensor> tensor = reader.ReadTensor(header);
    if (!tensor.ok()) return std::move(tensor).status().While("tensor " + std::to_string(tensors.size()));
    tensors.push_back(*std::move(tensor));
  }
  if (reader.remaining() != 0) {
    return InvalidArgument(std::to_string(reader.remaining()) + " bytes after the last tensor of the message");
  }
  return tensors;
}

}  // namespace espalier::rpc
