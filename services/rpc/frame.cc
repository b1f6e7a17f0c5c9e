// Encoding copies the header and the small tensors after it to one slice, and each later run of small tensors to
// another. Each large tensor becomes a slice of its own without a copy. Decoding walks over the slices of the message
// with a position (slice_, offset_bytes_); a tensor that lies in one slice and is aligned becomes a view that keeps the
// slice alive.
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
// Tensors up to this size are copied to a shared slice, because a slice of their own would cost more.
constexpr size_t kInlineTensorBytes = 4096;
// Tensors of at least this size that must be copied are copied to pooled memory.
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
      [](void* tensor_copy) { delete static_cast<Tensor*>(tensor_copy); }, owner);
}

const std::byte* ToBytes(const grpc::Slice& slice) { return reinterpret_cast<const std::byte*>(slice.begin()); }

// Memory for received tensors that must be copied. Never destroyed: threads may read messages until the process exits.
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
  std::string buffer(kPrefixBytes, '\0');
  ESPALIER_CHECK(header.AppendToString(&buffer)) << "a required field of the header is missing";
  ESPALIER_CHECK(buffer.size() - kPrefixBytes <= kMaxHeaderBytes)
      << "the header is too large: bulk data belongs in tensors";
  StoreLittleEndian(static_cast<uint32_t>(buffer.size() - kPrefixBytes), buffer.data());

  std::vector<grpc::Slice> slices;
  for (const Tensor& tensor : tensors) {
    if (tensor.size_bytes() == 0) continue;
    if (tensor.size_bytes() <= kInlineTensorBytes) {
      buffer.append(reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
      continue;
    }
    if (!buffer.empty()) slices.emplace_back(buffer);
    buffer.clear();
    slices.push_back(ToSlice(tensor));
  }
  if (!buffer.empty()) slices.emplace_back(buffer);
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
    return InvalidArgument("the header length is " + std::to_string(reader.header_bytes_) +
                           " bytes, expected at most " + std::to_string(kMaxHeaderBytes) + " and at most the " +
                           std::to_string(reader.remaining_bytes_) + " bytes of the message that follow the length");
  }
  return reader;
}

Status FrameReader::ReadHeader(google::protobuf::MessageLite* header) {
  std::string bytes(header_bytes_, '\0');
  CopyBytes(reinterpret_cast<std::byte*>(bytes.data()), bytes.size());
  // Protobuf would log invalid UTF-8 to stderr, which a peer must not be able to trigger.
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

std::span<const std::byte> FrameReader::ReadView(size_t max_bytes) {
  const size_t wanted_bytes = std::min(max_bytes, remaining_bytes_);
  if (wanted_bytes == 0) return {};
  SkipFinishedSlices();
  const grpc::Slice& slice = slices_[slice_];
  const std::span<const std::byte> view(ToBytes(slice) + offset_bytes_,
                                        std::min(wanted_bytes, slice.size() - offset_bytes_));
  offset_bytes_ += view.size();
  remaining_bytes_ -= view.size();
  return view;
}

void FrameReader::CopyBytes(std::byte* out, size_t size_bytes) {
  ESPALIER_CHECK(size_bytes <= remaining_bytes_) << "size_bytes exceeds remaining()";
  while (size_bytes > 0) {
    const std::span<const std::byte> view = ReadView(size_bytes);
    std::memcpy(out, view.data(), view.size());
    out += view.size();
    size_bytes -= view.size();
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
    // A short slice stores its bytes inline, so the view must refer to the bytes of the copy, `owner`.
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
