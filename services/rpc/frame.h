// Messages with tensors (proto/espalier/tensor/v1/tensor.proto says the layout): a protobuf header followed by raw
// bytes, held in a grpc::ByteBuffer. Encoding refers to the tensors' memory, decoding to the message's: bulk data is
// not copied on either side unless the network delivered it in pieces or unaligned.
//
// Decoding is the boundary to untrusted bytes: every length is checked before it is used, and nothing assumes that
// a message is one slice (gRPC cuts them where it likes; a 4-byte message has been seen as two).
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <span>
#include <vector>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/base/tensor.h"

namespace espalier::rpc {

// Headers are small: ids and rows are tensors.
inline constexpr uint32_t kMaxHeaderBytes = uint32_t{4} << 20;

using TensorHeaders = google::protobuf::RepeatedPtrField<tensor::v1::TensorHeader>;

// Walks a message's bytes once, in order. The buffer's slices are shared, not copied. Owned by one thread.
class FrameReader {
 public:
  // InvalidArgument where the buffer has no valid header length.
  static Result<FrameReader> Open(const grpc::ByteBuffer& message);

  // Parses the header; first call after Open.
  Status ReadHeader(google::protobuf::MessageLite* header);
  // The next tensor: a view into the message where its bytes lie together and aligned, else a copy.
  Result<Tensor> ReadTensor(const tensor::v1::TensorHeader& header);
  // The next bytes, copied. Only for sizes up to remaining() (checked).
  void CopyBytes(std::byte* out, size_t size_bytes);
  // Of the next bytes, those that lie together, and at most `most_bytes`: a view into the message, of any alignment.
  // Empty only where nothing remains or is asked for.
  std::span<const std::byte> TakePiece(size_t most_bytes);
  size_t remaining() const { return remaining_bytes_; }

 private:
  FrameReader() = default;
  void SkipFinishedSlices();

  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0;         // index of the current slice
  size_t offset_bytes_ = 0;  // within it
  size_t remaining_bytes_ = 0;
  uint32_t header_bytes_ = 0;
};

// The message of a finished header (its `tensors` describe `tensors`).
grpc::ByteBuffer EncodeFrameBytes(const google::protobuf::MessageLite& header, std::span<const Tensor> tensors);
// dtype and shape of each tensor, as the header carries them.
void DescribeTensors(std::span<const Tensor> tensors, TensorHeaders* headers);
// All tensors of a header; InvalidArgument unless they fill the rest of the message exactly.
Result<std::vector<Tensor>> ReadTensors(const TensorHeaders& headers, FrameReader& reader);

template <class Header>
grpc::ByteBuffer EncodeFrame(Header header, std::span<const Tensor> tensors) {
  DescribeTensors(tensors, header.mutable_tensors());
  return EncodeFrameBytes(header, tensors);
}

template <class Header>
struct Frame {
  Header header;
  std::vector<Tensor> tensors;  // as header.tensors()
};

template <class Header>
Result<Frame<Header>> DecodeFrame(const grpc::ByteBuffer& message) {
  ASSIGN_OR_RETURN(FrameReader reader, FrameReader::Open(message));
  Frame<Header> frame;
  RETURN_IF_ERROR(reader.ReadHeader(&frame.header));
  ASSIGN_OR_RETURN(frame.tensors, ReadTensors(frame.header.tensors(), reader));
  return frame;
}

}  // namespace espalier::rpc
