#include "services/sampler/seeds/seed_rows.h"

#include <cstring>
#include <string>
#include <vector>

namespace espalier::sampler {
namespace {

// Limit for the rows of all edges of a request, so that a wrong shape in a server's response does not exhaust memory.
constexpr uint64_t kMaxBytesOfRows = uint64_t{1} << 32;

}  // namespace

Status SeedRows::Add(uint32_t partition, const Tensor& positions, const Tensor& rows) {
  if (rows.shape().empty() || rows.num_rows() != positions.num_elements()) {
    return Internal("partition " + std::to_string(partition) + " sent rows " + rows.ToString() + " for " +
                    std::to_string(positions.num_elements()) + " edges");
  }
  std::vector<int64_t> shape = rows.shape();
  shape[0] = static_cast<int64_t>(num_edges_);
  if (!has_shape_) {
    ASSIGN_OR_RETURN(const int64_t count, CheckedElementCount(shape, ItemSize(rows.dtype())));
    if (static_cast<uint64_t>(count) > kMaxBytesOfRows / ItemSize(rows.dtype())) {
      return ResourceExhausted("the rows of " + std::to_string(num_edges_) + " edges take more than " +
                               std::to_string(kMaxBytesOfRows) + " bytes (partition " + std::to_string(partition) +
                               " sent " + rows.ToString() + "): use smaller batches");
    }
    rows_ = Tensor::Zeros(rows.dtype(), shape);
    has_shape_ = true;
  }
  if (rows_.dtype() != rows.dtype() || rows_.shape() != shape) {
    std::vector<int64_t> expected = rows_.shape();
    expected[0] = rows.num_rows();
    return Internal("partition " + std::to_string(partition) + " sent rows " + rows.ToString() +
                    ", which differ from those of other partitions: expected " +
                    Tensor::Wrap(rows_.dtype(), expected, /*data=*/nullptr, nullptr).ToString());
  }
  const size_t row_bytes = rows.row_bytes();
  if (row_bytes == 0) return Status();
  for (int64_t i = 0; i < positions.num_elements(); ++i) {
    const auto position = static_cast<size_t>(positions.ValueAsInt(i));
    std::memcpy(rows_.mutable_bytes() + position * row_bytes, rows.bytes() + static_cast<size_t>(i) * row_bytes,
                row_bytes);
  }
  return Status();
}

}  // namespace espalier::sampler
