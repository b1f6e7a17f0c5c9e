#include "services/messages/request_tensors.h"

namespace espalier::messages {

static_assert(sizeof(LocalNodeId) == sizeof(uint32_t));

Status CheckTensorCount(const std::vector<Tensor>& tensors, size_t expected) {
  if (tensors.size() == expected) return Status();
  return InvalidArgument("request with " + std::to_string(tensors.size()) + " tensors, expected " +
                         std::to_string(expected));
}

Status CheckIdTensor(const Tensor& tensor, bool wide_allowed, const ServiceLimits& limits) {
  const bool is_wide = tensor.dtype() == DType::kU64 && wide_allowed;
  if ((tensor.dtype() != DType::kU32 && !is_wide) || tensor.shape().size() != 1) {
    return InvalidArgument("ids are " + tensor.ToString() + ", expected U32" + (wide_allowed ? " or U64" : "") +
                           " [k]");
  }
  const uint64_t count = static_cast<uint64_t>(tensor.num_elements());
  if (count > limits.max_rows) {
    return ResourceExhausted(std::to_string(count) + " ids in one request, the limit is " +
                             std::to_string(limits.max_rows));
  }
  return Status();
}

Status CheckReplyRows(size_t num_rows, uint64_t row_bytes, const ServiceLimits& limits) {
  if (row_bytes <= limits.max_reply_bytes && num_rows * row_bytes <= limits.max_reply_bytes) return Status();
  return ResourceExhausted(std::to_string(num_rows) + " rows of " + std::to_string(row_bytes) +
                           " bytes in one response, the limit is " + std::to_string(limits.max_reply_bytes) +
                           " bytes: request fewer");
}

Result<std::span<const LocalNodeId>> LocalIds(const Tensor& tensor, const ServiceLimits& limits) {
  RETURN_IF_ERROR(CheckIdTensor(tensor, /*wide_allowed=*/false, limits));
  return std::span<const LocalNodeId>(reinterpret_cast<const LocalNodeId*>(tensor.bytes()),
                                      static_cast<size_t>(tensor.num_elements()));
}

}  // namespace espalier::messages
