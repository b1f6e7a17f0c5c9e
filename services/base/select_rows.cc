#include "services/base/select_rows.h"

#include <cstring>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/parallel.h"

namespace espalier {
namespace {

constexpr int64_t kSelectGrain = 1 << 14;  // rows

}  // namespace

template <class Row>
Tensor SelectRows(const Tensor& tensor, std::span<const Row> rows, int num_threads) {
  std::vector<int64_t> shape = tensor.shape();
  ESPALIER_CHECK(!shape.empty()) << "a scalar has no rows";
  shape[0] = static_cast<int64_t>(rows.size());
  Tensor selected = Tensor::Uninitialized(tensor.dtype(), std::move(shape));
  if (selected.empty()) return selected;
  const size_t row_bytes = tensor.row_bytes();
  std::byte* const to = selected.mutable_bytes();
  ParallelFor(num_threads, static_cast<int64_t>(rows.size()), kSelectGrain, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      std::memcpy(to + i * row_bytes, tensor.bytes() + static_cast<size_t>(rows[i]) * row_bytes, row_bytes);
    }
  });
  return selected;
}

template Tensor SelectRows(const Tensor&, std::span<const uint32_t>, int);
template Tensor SelectRows(const Tensor&, std::span<const uint64_t>, int);

}  // namespace espalier
