#include "services/messages/wire_ids.h"

#include <algorithm>
#include <limits>

namespace espalier::messages {
namespace {

template <class T>
uint64_t Largest(std::span<const T> values) {
  T largest = 0;
  for (const T value : values) largest = std::max(largest, value);
  return largest;
}

template <class T>
Tensor Concatenated(std::span<const Tensor> parts, size_t total) {
  std::vector<T> ids;
  ids.reserve(total);
  for (const Tensor& part : parts) {
    if (part.empty()) continue;
    if (part.dtype() == DType::kU32) {
      const auto values = part.values<uint32_t>();
      ids.insert(ids.end(), values.begin(), values.end());
    } else {
      const auto values = part.values<uint64_t>();
      ids.insert(ids.end(), values.begin(), values.end());
    }
  }
  return Tensor::FromVector(std::move(ids));
}

}  // namespace

Result<NodeTypeId> DecodeNodeType(uint32_t number) {
  if (number <= std::numeric_limits<uint16_t>::max()) return NodeTypeId(static_cast<uint16_t>(number));
  return InvalidArgument("node type " + std::to_string(number) + " does not exist");
}

Result<EdgeTypeId> DecodeEdgeType(uint32_t number) {
  if (number <= std::numeric_limits<uint16_t>::max()) return EdgeTypeId(static_cast<uint16_t>(number));
  return InvalidArgument("edge type " + std::to_string(number) + " does not exist");
}

Status CheckIds(const Tensor& tensor, uint64_t count, uint64_t limit, const std::string& what) {
  if (count == 0 && tensor.empty()) return Status();
  const bool is_id_type = tensor.dtype() == DType::kU32 || tensor.dtype() == DType::kU64;
  if (!is_id_type || static_cast<uint64_t>(tensor.num_elements()) != count) {
    return InvalidArgument("the response's " + what + " are " + tensor.ToString() + ", expected U32 or U64 [" +
                           std::to_string(count) + "]");
  }
  const uint64_t largest =
      tensor.dtype() == DType::kU32 ? Largest(tensor.values<uint32_t>()) : Largest(tensor.values<uint64_t>());
  if (largest < limit) return Status();
  return InvalidArgument("the response's " + what + " contain " + std::to_string(largest) +
                         ", expected numbers below " + std::to_string(limit));
}

Tensor ConcatenateIds(std::span<const Tensor> parts) {
  if (parts.size() == 1) return parts[0];
  size_t total = 0;
  bool any_wide = false;
  for (const Tensor& part : parts) {
    if (part.empty()) continue;
    total += static_cast<size_t>(part.num_elements());
    any_wide |= part.dtype() == DType::kU64;
  }
  if (!any_wide) return Concatenated<uint32_t>(parts, total);
  return Concatenated<uint64_t>(parts, total);
}

}  // namespace espalier::messages
