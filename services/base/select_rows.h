// Copies chosen rows of a tensor.
#pragma once

#include <cstdint>
#include <span>

#include "services/base/tensor.h"

namespace espalier {

// Returns a tensor [rows.size(), row shape...] whose row i is row rows[i] of `tensor` (torch.index_select along
// dimension 0), copied by up to `num_threads` threads. `tensor` must have at least one dimension, and every element of
// `rows` must be a row of it (not checked). Row is uint32_t or uint64_t.
template <class Row>
Tensor SelectRows(const Tensor& tensor, std::span<const Row> rows, int num_threads = 1);

extern template Tensor SelectRows(const Tensor&, std::span<const uint32_t>, int);
extern template Tensor SelectRows(const Tensor&, std::span<const uint64_t>, int);

}  // namespace espalier
