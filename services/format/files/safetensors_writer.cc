#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/format/files/safetensors.h"

namespace espalier::format {
namespace {

constexpr size_t kDataAlignment = 64;

using NamedTensor = std::pair<const std::string, Tensor>;

// Orders tensors by descending element size, then by name, so that every tensor starts at a multiple of its element
// size.
std::vector<const NamedTensor*> InFileOrder(const std::map<std::string, Tensor>& tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& named : tensors) order.push_back(&named);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return ItemSize(a->second.dtype()) > ItemSize(b->second.dtype());
  });
  return order;
}

// Returns all bytes before the data: the field with the header's length, then the header, padded with spaces so that
// the data starts at a multiple of kDataAlignment.
Result<std::string> FormatHeader(const std::vector<const NamedTensor*>& order,
                                 const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const NamedTensor* named : order) {
    const auto& [name, tensor] = *named;
    if (name == "__metadata__") return InvalidArgument("'__metadata__' cannot be a tensor's name");
    header[name] = {{"dtype", ToString(tensor.dtype())},
                    {"shape", tensor.shape()},
                    {"data_offsets", {offset, offset + tensor.size_bytes()}}};
    offset += tensor.size_bytes();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception& error) {  // a string that is not UTF-8
    return InvalidArgument(std::string("the header of a safetensors file: ") + error.what());
  }
  while ((kSafetensorsLengthBytes + text.size()) % kDataAlignment != 0) text += ' ';
  std::string bytes(kSafetensorsLengthBytes, '\0');
  for (size_t i = 0; i < kSafetensorsLengthBytes; ++i) bytes[i] = static_cast<char>(text.size() >> (8 * i));
  return bytes + text;
}

}  // namespace

Status WriteSafetensors(const Safetensors& content, storage::ObjectWriter& writer) {
  const std::vector<const NamedTensor*> order = InFileOrder(content.tensors);
  ASSIGN_OR_RETURN(const std::string header, FormatHeader(order, content.metadata));
  RETURN_IF_ERROR(writer.Write(std::as_bytes(std::span(header))));
  for (const NamedTensor* named : order) {
    if (!named->second.empty()) RETURN_IF_ERROR(writer.Write(named->second.byte_span()));
  }
  return Status();
}

}  // namespace espalier::format
