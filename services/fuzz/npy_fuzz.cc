// .npy files. Properties: an array has the size that its header declares, and its dtype and shape survive a round trip
// through a header.
#include <cstddef>
#include <cstdint>
#include <span>

#include "services/base/check.h"
#include "services/format/files/npy_header.h"
#include "services/format/source/npy_file.h"
#include "services/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::format;  // NOLINT: one function
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto header = ParseNpyHeader(bytes);
  const auto offset = NpyDataOffset(bytes.first(std::min(size, kNpyLongestPrefix)));
  ESPALIER_CHECK(!header.ok() || (offset.ok() && header->data_offset == *offset && *offset <= size));

  const espalier::fuzz::InputFile file(data, size);
  const auto tensor = ReadNpy(file.path());
  if (!tensor.ok()) {
    ESPALIER_CHECK(!tensor.status().message().empty());
    return 0;
  }
  ESPALIER_CHECK(header.ok() && header->data_offset + tensor->size_bytes() == size);
  const auto again = FormatNpyHeader(tensor->dtype(), tensor->shape());
  ESPALIER_CHECK(again.ok());
  const auto header_again = ParseNpyHeader(std::as_bytes(std::span(*again)));
  ESPALIER_CHECK(header_again.ok() && header_again->dtype == header->dtype && header_again->shape == header->shape);
  return 0;
}
