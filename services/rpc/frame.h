// Messages with tensors: a protobuf header followed by raw bytes, in a grpc::ByteBuffer. The layout is documented in
// proto/espalier/tensor/v1/tensor.proto. An encoded message refers to the memory of its tensors (small tensors are
// copied). Decoded tensors refer to the memory of the message; a tensor that arrives in several slices or unaligned is
// copied.
//
// Decoding handles untrusted bytes: every length is checked before it is used, and a message may have any number of
// slices (gRPC may split even 4 bytes).
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <span>
#include <vector>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/base/tensor.h"

namespace espalier::rpc {

// Headers need little space, because ids and rows are sent as tensors.
inline constexpr uint32_t kMaxHeaderBytes = uint32_t{4} << 20;

using TensorHeaders = google::protobuf::RepeatedPtrField<tensor::v1::TensorHeader>;

// Reads the bytes of a message once, in order. Shares the slices of the message's buffer. Not thread-safe.
class FrameReader {
 public:
  // InvalidArgument: the message has no valid header length.
  static Result<FrameReader> Open(const grpc::ByteBuffer& message);

  // Parses the header. Must be the first call after Open. InvalidArgument: the bytes are not a header of this type.
  Status ReadHeader(google::protobuf::MessageLite* header);
  // Returns the next tensor: a view of the message if its bytes are contiguous and aligned, otherwise a copy.
  // InvalidArgument: the dtype or shape is invalid, or the message has too few bytes.
  Result<Tensor> ReadTensor(const tensor::v1::TensorHeader& header);
  // Copies the next bytes. `size_bytes` must be at most remaining() (checked).
  void CopyBytes(std::byte* out, size_t size_bytes);
  // Returns a view of the next contiguous bytes, at most `max_bytes`, of any alignment. Empty only if nothing remains
  // or `max_bytes` is 0.
  std::span<const std::byte> ReadView(size_t max_bytes);
  size_t remaining() const { return remaining_bytes_; }  // bytes

 private:
  FrameReader() = default;
  void SkipFinishedSlices();

  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0;         // index of the current slice
  size_t offset_bytes_ = 0;  // in the current slice
  size_t remaining_bytes_ = 0;
  uint32_t header_bytes_ = 0;
};

// Encodes a message. `header` must already describe `tensors` (DescribeTensors).
grpc::ByteBuffer EncodeFrameBytes(const google::protobuf::MessageLite& header, std::span<const Tensor> tensors);
// Replaces `headers` by the dtype and shape of each tensor.
void DescribeTensors(std::span<const Tensor> tensors, TensorHeaders* headers);
// Reads all tensors. InvalidArgument: from ReadTensor, or bytes remain after the last tensor.
Result<std::vector<Tensor>> ReadTensors(const TensorHeaders& headers, FrameReader& reader);

// Encodes a message; sets header.tensors(). The message keeps the memory of `tensors` alive.
template <class Header>
grpc::ByteBuffer EncodeFrame(Header header, std::span<const Tensor> tensors) {
  DescribeTensors(tensors, header.mutable_tensors());
  return EncodeFrameBytes(header, tensors);
}

template <class Header>
struct Frame {
  Header header;
  std::vector<Tensor> tensors;  // described by header.tensors()
};

// InvalidArgument: the message is not a valid frame with this header.
template <class Header>
Result<Frame<Header>> DecodeFrame(const grpc::ByteBuffer& message) {
  ASSIGN_OR_RETURN(FrameReader reader, FrameReader::Open(message));
  Frame<Header> frame;
  RETURN_IF_ERROR(reader.ReadHeader(&frame.header));
  ASSIGN_OR_RETURN(frame.tensors, ReadTensors(frame.header.tensors(), reader));
  return frame;
}

}  // namespace espalier::rpc
