// Messages with tensors. Properties: the result does not depend on how the bytes are divided into slices, and a decoded
// message can be encoded and decoded again with as many tensors.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "espalier/graph/v1/graph.pb.h"
#include "services/base/check.h"
#include "services/rpc/frame.h"

namespace {

using Header = espalier::graph::v1::GatherRowsRequest;
using espalier::rpc::DecodeFrame;

grpc::ByteBuffer Sliced(const uint8_t* data, size_t size, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t begin = 0; begin < size; begin += slice_bytes) {
    slices.emplace_back(data + begin, std::min(slice_bytes, size - begin));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string Describe(const grpc::ByteBuffer& message) {
  const auto frame = DecodeFrame<Header>(message);
  if (!frame.ok()) return frame.status().ToString();
  std::string outcome = frame->header.SerializeAsString();
  for (const espalier::Tensor& tensor : frame->tensors) {
    outcome += tensor.ToString() + std::string(reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
  }
  return outcome;
}

}  // namespace

// The first byte determines the size of slices.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const grpc::ByteBuffer whole = Sliced(data + 1, size - 1, size);
  const std::string outcome = Describe(whole);
  ESPALIER_CHECK(outcome == Describe(Sliced(data + 1, size - 1, size_t{1} + data[0] % 64)));

  const auto frame = DecodeFrame<Header>(whole);
  if (!frame.ok()) return 0;
  Header header = frame->header;
  header.clear_tensors();
  const auto again = DecodeFrame<Header>(espalier::rpc::EncodeFrame(header, frame->tensors));
  ESPALIER_CHECK(again.ok() && again->tensors.size() == frame->tensors.size());
  return 0;
}
