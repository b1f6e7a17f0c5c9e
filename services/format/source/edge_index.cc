#include "services/format/source/edge_index.h"

#include <memory>

#include "services/graph/id_values.h"

namespace espalier::format {
namespace {

// Returns row `row` of a matrix as a view that keeps the matrix alive.
Tensor GetRow(const Tensor& matrix, size_t row) {
  return Tensor::Wrap(matrix.dtype(), {matrix.shape()[1]}, matrix.bytes() + row * matrix.row_bytes(),
                      std::make_shared<Tensor>(matrix));
}

}  // namespace

graph::EdgeSet NoEdges() {
  return {.sources = Tensor::Zeros(DType::kU32, {0}), .destinations = Tensor::Zeros(DType::kU32, {0})};
}

Result<graph::EdgeSet> ToEdgeSet(const Tensor& edge_index) {
  const bool fits =
      graph::IsIdDType(edge_index.dtype()) && edge_index.shape().size() == 2 && edge_index.shape()[0] == 2;
  if (!fits && edge_index.num_elements() == 0) return NoEdges();
  if (!fits) {
    return InvalidArgument("edges are " + edge_index.ToString() +
                           ": expected [2, m] of I32, I64, U32 or U64, sources in the first row and destinations in "
                           "the second");
  }
  return graph::EdgeSet{.sources = GetRow(edge_index, 0), .destinations = GetRow(edge_index, 1)};
}

}  // namespace espalier::format
