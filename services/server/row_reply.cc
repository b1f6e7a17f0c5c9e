#include "services/server/row_reply.h"

#include <numeric>

namespace espalier::server {

Result<std::shared_ptr<RowReply>> RowReply::Make(size_t num_rows, uint64_t row_bytes, Tensor query,
                                                 const ServiceLimits& limits) {
  RETURN_IF_ERROR(messages::CheckReplyRows(num_rows, row_bytes, limits));
  return std::shared_ptr<RowReply>(new RowReply(num_rows, row_bytes, std::move(query)));
}

RowReply::RowReply(size_t num_rows, uint64_t row_bytes, Tensor query)
    : bytes_(std::make_shared_for_overwrite<std::byte[]>(num_rows * row_bytes)),
      row_bytes_(row_bytes),
      positions_(num_rows),
      query_(std::move(query)) {
  std::iota(positions_.begin(), positions_.end(), uint32_t{0});
}

Tensor RowReply::rows() const {
  const std::byte* const bytes = bytes_.get();
  return Tensor::Wrap(DType::kU8, {static_cast<int64_t>(positions_.size()), static_cast<int64_t>(row_bytes_)}, bytes,
                      bytes_);
}

}  // namespace espalier::server
