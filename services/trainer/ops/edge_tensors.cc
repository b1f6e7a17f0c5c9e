// SumRows is torch's embedding_bag: bag i adds the rows x[rows[k]] for all k in [offsets[i], offsets[i + 1]), without a
// copy of the rows; on a GPU, one thread adds up a column of a bag. A bag consists of the edges of a destination in the
// forward pass, and of the edges of a source in the backward pass. ReduceRows is torch's segment_reduce: it computes
// sums, maxima and minima of values that are already in the order of the edges.
//
// MaxSources gives the gradient of an element to the first edge whose value equals the maximum: the one with the
// smallest place among the edges of the destination. Places are stored as f32, which is exact below 2^24.
#include "services/trainer/ops/edge_tensors.h"

#include <limits>
#include <vector>

#include "services/base/check.h"

namespace espalier::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kSumOfBags = 0;  // embedding_bag's mode
constexpr int64_t kMaxBlockEdges = std::numeric_limits<int32_t>::max();

torch::Tensor CopyWords(std::span<const uint32_t> words, torch::Device device) {
  // from_blob takes a mutable pointer; the view is only read, and the copy is complete before this function returns.
  void* const data = const_cast<uint32_t*>(words.data());
  const torch::Tensor view = torch::from_blob(data, {static_cast<int64_t>(words.size())}, torch::kInt32);
  return view.to(device, torch::kInt32, /*non_blocking=*/false, /*copy=*/true);
}

std::vector<uint32_t> ListDestinations(const kernels::Segments& segments) {
  std::vector<uint32_t> destinations;
  destinations.reserve(segments.indices.size());
  for (size_t d = 0; d + 1 < segments.indptr.size(); ++d) {
    destinations.insert(destinations.end(), segments.indptr[d + 1] - segments.indptr[d], static_cast<uint32_t>(d));
  }
  return destinations;
}

// Returns the sums of rows of x by bag: x f32 [M, W], rows i32 [E], offsets i32 [B + 1] -> f32 [B, W].
torch::Tensor SumRows(const torch::Tensor& x, const torch::Tensor& rows, const torch::Tensor& offsets) {
  const int64_t num_bags = offsets.size(0) - 1;
  if (rows.numel() == 0 || x.size(1) == 0 || num_bags == 0) return torch::zeros({num_bags, x.size(1)}, x.options());
  return std::get<0>(at::_embedding_bag_forward_only(x.contiguous(), rows, offsets, /*scale_grad_by_freq=*/false,
                                                     kSumOfBags, /*sparse=*/false, /*per_sample_weights=*/{},
                                                     /*include_last_offset=*/true));
}

// Returns the sums, maxima or minima ("sum", "max", "min") of the rows offsets[d] .. offsets[d + 1] - 1 of `values` for
// each d: values f32 [E, W], offsets i32 [D + 1] -> f32 [D, W]. `initial` is the result of a d without rows.
torch::Tensor ReduceRows(const char* reduction, const torch::Tensor& values, const torch::Tensor& offsets,
                         float initial) {
  const int64_t num_rows = offsets.size(0) - 1;
  if (values.numel() == 0 || num_rows == 0) return torch::full({num_rows, values.size(1)}, initial, values.options());
  return at::segment_reduce(values.contiguous(), reduction, /*lengths=*/{}, /*indices=*/{}, offsets, /*axis=*/0,
                            /*unsafe=*/true, initial);
}

class SourceSum : public Function<SourceSum> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const EdgeTensors& edges) {
    context->save_for_backward({edges.by_source, edges.destinations_by_source});
    return SumRows(x, edges.sources, edges.indptr);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    return {SumRows(gradients[0], saved[1], saved[0]), torch::Tensor()};
  }
};

class SourceGather : public Function<SourceGather> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const EdgeTensors& edges) {
    context->save_for_backward({edges.by_source, edges.positions});
    return x.index_select(0, edges.sources);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    return {SumRows(gradients[0], saved[1], saved[0]), torch::Tensor()};
  }
};

class DestinationGather : public Function<DestinationGather> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const EdgeTensors& edges) {
    context->save_for_backward({edges.indptr});
    return x.index_select(0, edges.destinations);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {ReduceRows("sum", gradients[0], context->get_saved_variables()[0], 0), torch::Tensor()};
  }
};

class EdgeSum : public Function<EdgeSum> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& values, const EdgeTensors& edges) {
    context->save_for_backward({edges.destinations});
    return ReduceRows("sum", values, edges.indptr, 0);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {gradients[0].index_select(0, context->get_saved_variables()[0]), torch::Tensor()};
  }
};

class SourceMaximum : public Function<SourceMaximum> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const EdgeTensors& edges) {
    const torch::Tensor values = x.index_select(0, edges.sources);
    const torch::Tensor maxima = ReduceRows("max", values, edges.indptr, -kInfinity);
    const torch::Tensor is_maximum = (values == maxima.index_select(0, edges.destinations)).logical_or_(values.isnan());
    const torch::Tensor places = PlacesInSegments(edges);
    const torch::Tensor winners = ReduceRows(
        "min", torch::where(is_maximum, places, torch::full_like(places, kInfinity)), edges.indptr, kInfinity);
    context->save_for_backward({winners, places, edges.destinations, edges.by_source, edges.positions});
    const torch::Tensor has_edges = edges.indptr.diff().gt(0).unsqueeze(1);
    return torch::where(has_edges, maxima, torch::zeros_like(maxima));
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &winners = saved[0], &places = saved[1], &destinations = saved[2];
    const torch::Tensor won = winners.index_select(0, destinations) == places;
    const torch::Tensor by_edge = gradients[0].index_select(0, destinations);
    return {SumRows(torch::where(won, by_edge, torch::zeros_like(by_edge)), saved[4], saved[3]), torch::Tensor()};
  }

 private:
  // Returns the place of each edge among the edges of its destination, f32 [E, 1].
  static torch::Tensor PlacesInSegments(const EdgeTensors& edges) {
    const torch::Tensor numbers = torch::arange(edges.sources.numel(), edges.sources.options());
    return (numbers - edges.indptr.index_select(0, edges.destinations)).to(torch::kFloat32).unsqueeze(1);
  }
};

class EdgeSoftmaxByTorch : public Function<EdgeSoftmaxByTorch> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& scores, const EdgeTensors& edges) {
    const torch::Tensor maxima = ReduceRows("max", scores, edges.indptr, -kInfinity);
    torch::Tensor weights = (scores - maxima.index_select(0, edges.destinations)).exp_();
    weights.div_(ReduceRows("sum", weights, edges.indptr, 0).index_select(0, edges.destinations));
    context->save_for_backward({weights, edges.indptr, edges.destinations});
    return weights;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor& weights = saved[0];
    const torch::Tensor means = ReduceRows("sum", weights * gradients[0], saved[1], 0).index_select(0, saved[2]);
    return {weights * (gradients[0] - means), torch::Tensor()};
  }
};

}  // namespace

EdgeTensors ToEdgeTensors(const kernels::Segments& segments, const kernels::Segments& by_source,
                          std::span<const uint32_t> positions, torch::Device device) {
  ESPALIER_CHECK(static_cast<int64_t>(segments.indices.size()) <= kMaxBlockEdges)
      << "a block with " << segments.indices.size() << " edges is too large";
  EdgeTensors edges{.indptr = CopyWords(segments.indptr, device),
                    .sources = CopyWords(segments.indices, device),
                    .destinations = CopyWords(ListDestinations(segments), device)};
  if (by_source.indptr.empty()) return edges;
  edges.by_source = CopyWords(by_source.indptr, device);
  edges.destinations_by_source = CopyWords(by_source.indices, device);
  edges.positions = CopyWords(positions, device);
  return edges;
}

EdgeTensors ToEdgeTensors(const kernels::Segments& segments, int64_t num_sources, torch::Device device,
                          bool wants_gradient) {
  kernels::TransposedSegments transposed;
  if (wants_gradient) transposed = kernels::Transpose(segments, num_sources, kernels::EdgePositions::kKeep);
  return ToEdgeTensors(segments, {transposed.indptr, transposed.destinations}, transposed.positions, device);
}

torch::Tensor SumSources(const EdgeTensors& edges, const torch::Tensor& x) { return SourceSum::apply(x, edges); }
torch::Tensor MaxSources(const EdgeTensors& edges, const torch::Tensor& x) { return SourceMaximum::apply(x, edges); }
torch::Tensor SourceRows(const EdgeTensors& edges, const torch::Tensor& x) { return SourceGather::apply(x, edges); }
torch::Tensor DestinationRows(const EdgeTensors& edges, const torch::Tensor& x) {
  return DestinationGather::apply(x, edges);
}
torch::Tensor SumEdges(const EdgeTensors& edges, const torch::Tensor& values) { return EdgeSum::apply(values, edges); }
torch::Tensor SoftmaxOverEdges(const EdgeTensors& edges, const torch::Tensor& scores) {
  return EdgeSoftmaxByTorch::apply(scores, edges);
}

}  // namespace espalier::trainer
