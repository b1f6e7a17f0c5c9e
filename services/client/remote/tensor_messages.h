// Helpers shared by requests for mutable tensors and for learnable rows.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/sampler/access/row_ids.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::client {

tensor::v1::TensorId ToProto(const sampler::TensorId& tensor);
tensor::v1::Initializer ToProto(const sampler::Initializer& initializer);

// A query for many rows is sent in pieces, one call each, of at most `rows_per_call` rows. Returns the rows of the
// piece with the index `piece`.
inline std::span<const LocalRowId> SelectPiece(std::span<const LocalRowId> rows, size_t piece, size_t rows_per_call) {
  const size_t begin = piece * rows_per_call;
  return rows.subspan(begin, std::min(rows_per_call, rows.size() - begin));
}

// Returns the number of pieces, at least 1, so that a query for no rows still checks that the tensor or embedding
// exists.
inline size_t NumPieces(size_t num_rows, size_t rows_per_call) {
  return std::max<size_t>(1, (num_rows + rows_per_call - 1) / rows_per_call);
}

}  // namespace espalier::client
