#include "services/client/remote/row_pieces.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace espalier::client {

uint64_t RowsPerRequest(const Tensor& rows, uint64_t max_rows, uint64_t bytes_per_request) {
  return std::clamp<uint64_t>(bytes_per_request / std::max<uint64_t>(1, rows.row_bytes()), 1, max_rows);
}

Status RowPieces::Add(const Tensor& rows) {
  if (rows.shape().empty() || static_cast<uint64_t>(rows.num_rows()) > num_rows_ - filled_) {
    return Internal("received rows " + rows.ToString() + ", expected at most " + std::to_string(num_rows_ - filled_) +
                    " rows");
  }
  std::vector<int64_t> shape = rows.shape();
  shape[0] = static_cast<int64_t>(num_rows_);
  if (!has_shape_) {
    RETURN_IF_ERROR(CheckedElementCount(shape, ItemSize(rows.dtype())).status());
    rows_ = Tensor::Zeros(rows.dtype(), shape);
    has_shape_ = true;
  }
  if (rows.dtype() != rows_.dtype() || shape != rows_.shape()) {
    return Internal("received rows " + rows.ToString() + ", expected the dtype and row shape of " + rows_.ToString());
  }
  const size_t row_bytes = rows.row_bytes();
  const auto count = static_cast<uint64_t>(rows.num_rows());
  if (count * row_bytes > 0) std::memcpy(rows_.mutable_bytes() + filled_ * row_bytes, rows.bytes(), count * row_bytes);
  filled_ += count;
  return Status();
}

}  // namespace espalier::client
