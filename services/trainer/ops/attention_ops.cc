// On the CPU, each operation except DropEdges is one autograd function over kernels of kernels/attention.h. It saves
// the kEdgeTensors tensors of the AttentionEdges, followed by its own. DropEdges is a product with constant factors. If
// gradients are enabled, AttentionEdges also groups the edges by source (the transposed block): gradients of sources
// are then sums in a fixed order, without scattered writes, and do not depend on the number of threads.
//
// If UsesCpuKernels is false, the operations are composed of those of edge_tensors.h. These store intermediate values
// in matrices [E, H * C], which the kernels do not need.
#include "services/trainer/ops/attention_ops.h"

#include <vector>

#include "services/base/check.h"
#include "services/kernels/dropout_half_words.h"
#include "services/kernels/row_ranges.h"
#include "services/trainer/ops/dropout_masks.h"
#include "services/trainer/ops/op_path.h"
#include "services/trainer/ops/word_tensors.h"

namespace espalier::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr size_t kEdgeTensors = 5;  // number of tensors that AttentionEdges saves

void CheckMatrix(const torch::Tensor& x, int64_t rows, int64_t columns) {
  ESPALIER_CHECK(x.dim() == 2 && x.scalar_type() == torch::kFloat32 && x.size(0) == rows && x.size(1) == columns)
      << "expected an f32 matrix [" << rows << ", " << columns << "]";
}

// Saves the tensors of the edges, followed by the operation's own tensors.
void Save(AutogradContext* context, const AttentionEdges& edges, std::initializer_list<torch::Tensor> own) {
  variable_list saved;
  edges.AppendTensorsTo(&saved);
  saved.insert(saved.end(), own);
  context->save_for_backward(std::move(saved));
}

class AdditiveScore : public Function<AdditiveScore> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& source, const torch::Tensor& destination,
                               const AttentionEdges& edges, double negative_slope) {
    const torch::Tensor s = source.contiguous(), d = destination.contiguous();
    const int64_t heads = s.size(1);
    torch::Tensor scores = torch::empty({edges.num_edges(), heads}, torch::kFloat32);
    kernels::AdditiveScores(edges.view().segments, heads, static_cast<float>(negative_slope), s.data_ptr<float>(),
                            d.data_ptr<float>(), scores.data_ptr<float>());
    Save(context, edges, {s, d});
    context->saved_data["slope"] = negative_slope;
    return scores;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const AttentionEdges edges = AttentionEdges::FromSaved(saved);
    const torch::Tensor &s = saved[kEdgeTensors], &d = saved[kEdgeTensors + 1], gradient = gradients[0].contiguous();
    torch::Tensor slopes = torch::empty_like(gradient), of_source = torch::empty_like(s),
                  of_destination = torch::empty_like(d);
    kernels::AdditiveScoreGradients(edges.view(), s.size(1),
                                    static_cast<float>(context->saved_data["slope"].toDouble()), s.data_ptr<float>(),
                                    d.data_ptr<float>(), gradient.data_ptr<float>(), slopes.data_ptr<float>(),
                                    of_source.data_ptr<float>(), of_destination.data_ptr<float>());
    return {of_source, of_destination, torch::Tensor(), torch::Tensor()};
  }
};

class DynamicScore : public Function<DynamicScore> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& source, const torch::Tensor& destination,
                               const torch::Tensor& attention, const AttentionEdges& edges, double negative_slope) {
    const torch::Tensor s = source.contiguous(), d = destination.contiguous(), a = attention.contiguous();
    torch::Tensor scores = torch::empty({edges.num_edges(), a.size(0)}, torch::kFloat32);
    kernels::DynamicScores(edges.view().segments, {a.size(0), a.size(1)}, static_cast<float>(negative_slope),
                           s.data_ptr<float>(), d.data_ptr<float>(), a.data_ptr<float>(), scores.data_ptr<float>());
    Save(context, edges, {s, d, a});
    context->saved_data["slope"] = negative_slope;
    return scores;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const AttentionEdges edges = AttentionEdges::FromSaved(saved);
    const torch::Tensor &s = saved[kEdgeTensors], &d = saved[kEdgeTensors + 1], &a = saved[kEdgeTensors + 2];
    const torch::Tensor gradient = gradients[0].contiguous();
    torch::Tensor of_source = torch::empty_like(s), of_destination = torch::empty_like(d);
    torch::Tensor chunk_sums = torch::empty({kernels::NumChunks(d.size(0)), a.numel()}, torch::kFloat32);
    kernels::DynamicScoreGradients(
        edges.view(), {a.size(0), a.size(1)}, static_cast<float>(context->saved_data["slope"].toDouble()),
        s.data_ptr<float>(), d.data_ptr<float>(), a.data_ptr<float>(), gradient.data_ptr<float>(),
        of_source.data_ptr<float>(), of_destination.data_ptr<float>(), chunk_sums.data_ptr<float>());
    const torch::Tensor of_attention = chunk_sums.to(torch::kFloat64).sum(0).to(torch::kFloat32).view(a.sizes());
    return {of_source, of_destination, of_attention, torch::Tensor(), torch::Tensor()};
  }
};

class SoftmaxOfEdges : public Function<SoftmaxOfEdges> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& scores, const AttentionEdges& edges) {
    const torch::Tensor from = scores.contiguous();
    torch::Tensor weights = torch::empty(from.sizes(), torch::kFloat32);
    kernels::SoftmaxOverSegments(edges.view().segments, from.size(1), from.data_ptr<float>(),
                                 weights.data_ptr<float>());
    Save(context, edges, {weights});
    return weights;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const AttentionEdges edges = AttentionEdges::FromSaved(saved);
    const torch::Tensor &weights = saved[kEdgeTensors], gradient = gradients[0].contiguous();
    torch::Tensor of_scores = torch::empty(weights.sizes(), torch::kFloat32);
    kernels::SoftmaxOverSegmentsGradient(edges.view().segments, weights.size(1), weights.data_ptr<float>(),
                                         gradient.data_ptr<float>(), of_scores.data_ptr<float>());
    return {of_scores, torch::Tensor()};
  }
};

class WeightedSum : public Function<WeightedSum> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& weights, const torch::Tensor& source,
                               const AttentionEdges& edges) {
    const torch::Tensor w = weights.contiguous(), s = source.contiguous();
    torch::Tensor sums = torch::empty({edges.num_rows(), s.size(1)}, torch::kFloat32);
    kernels::WeightedSums(edges.view().segments, {}, GetHeadShape(w, s), w.data_ptr<float>(), s.data_ptr<float>(),
                          sums.data_ptr<float>());
    Save(context, edges, {w, s});
    return sums;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const AttentionEdges edges = AttentionEdges::FromSaved(saved);
    const torch::Tensor &w = saved[kEdgeTensors], &s = saved[kEdgeTensors + 1], gradient = gradients[0].contiguous();
    torch::Tensor of_weights = torch::empty_like(w), of_source = torch::empty_like(s);
    kernels::WeightedSumGradients(edges.view(), GetHeadShape(w, s), w.data_ptr<float>(), s.data_ptr<float>(),
                                  gradient.data_ptr<float>(), of_weights.data_ptr<float>(),
                                  of_source.data_ptr<float>());
    return {of_weights, of_source, torch::Tensor()};
  }

 private:
  static kernels::HeadShape GetHeadShape(const torch::Tensor& weights, const torch::Tensor& source) {
    return {weights.size(1), source.size(1) / weights.size(1)};
  }
};

// Returns a view with one dimension for the heads: [n, H * C] -> [n, H, C].
torch::Tensor ViewByHead(const torch::Tensor& rows, int64_t heads) { return rows.view({rows.size(0), heads, -1}); }

// Returns LeakyReLU(source + destination) for each edge: [N, W], [D, W] -> [E, W].
torch::Tensor LeakySums(const EdgeTensors& edges, const torch::Tensor& source, const torch::Tensor& destination,
                        double negative_slope) {
  return torch::leaky_relu(SourceRows(edges, source) + DestinationRows(edges, destination), negative_slope);
}

torch::Tensor WeightedSumByTorch(const EdgeTensors& edges, const torch::Tensor& weights, const torch::Tensor& source) {
  const torch::Tensor messages = ViewByHead(SourceRows(edges, source), weights.size(1)) * weights.unsqueeze(2);
  return SumEdges(edges, messages.flatten(1));
}

torch::Tensor DropEdgesByTorch(const EdgeTensors& edges, const torch::Tensor& weights, const EdgeDropout& dropout) {
  const auto ids_of = [](const torch::Tensor& ids, const torch::Tensor& rows) {
    return ids.to(rows.device()).index_select(0, rows);
  };
  const torch::Tensor kept = MakeEdgeKeepMask(dropout.key, ids_of(dropout.source_ids, edges.sources),
                                              ids_of(dropout.destination_ids, edges.destinations), weights.size(1),
                                              kernels::DropThreshold(dropout.probability));
  return weights * (kept.to(torch::kFloat32) * kernels::DropoutScale(dropout.probability));
}

void CheckDropout(const AttentionEdges& edges, const EdgeDropout& dropout) {
  ESPALIER_CHECK(dropout.probability >= 0 && dropout.probability < 1) << "dropout must be in [0, 1)";
  ESPALIER_CHECK(dropout.source_ids.numel() >= edges.num_sources() &&
                 dropout.destination_ids.numel() >= edges.num_rows())
      << "attention dropout needs the original ids of all sources and destinations";
}

// Returns the factor of each weight, f32 [E, H]: 0 if it is dropped, otherwise the inverse of the probability that it
// is kept.
torch::Tensor DropoutFactors(const AttentionEdges& edges, int64_t heads, const EdgeDropout& dropout) {
  const torch::Tensor source_ids = dropout.source_ids.contiguous(),
                      destination_ids = dropout.destination_ids.contiguous();
  torch::Tensor factors = torch::empty({edges.num_edges(), heads}, torch::kFloat32);
  kernels::EdgeDropoutFactors(
      edges.view().segments, heads,
      {dropout.probability, dropout.key, source_ids.data_ptr<int64_t>(), destination_ids.data_ptr<int64_t>()},
      factors.data_ptr<float>());
  return factors;
}

}  // namespace

AttentionEdges::AttentionEdges(const kernels::Segments& segments, int64_t num_sources, SelfEdges self_edges) {
  ESPALIER_CHECK(!segments.indptr.empty() && segments.indptr.back() == segments.indices.size());
  std::vector<uint32_t> indptr(segments.indptr.begin(), segments.indptr.end());
  std::vector<uint32_t> indices(segments.indices.begin(), segments.indices.end());
  if (self_edges == SelfEdges::kAppended) {
    indices.clear();
    indices.reserve(segments.indices.size() + indptr.size());
    for (size_t d = 0; d + 1 < indptr.size(); ++d) {
      const auto from = segments.indices.subspan(segments.indptr[d], segments.indptr[d + 1] - segments.indptr[d]);
      indices.insert(indices.end(), from.begin(), from.end());
      indices.push_back(static_cast<uint32_t>(d));
      indptr[d + 1] = static_cast<uint32_t>(indices.size());
    }
  }
  kernels::TransposedSegments transposed;
  if (torch::GradMode::is_enabled())
    transposed = kernels::Transpose({indptr, indices}, num_sources, kernels::EdgePositions::kKeep);
  num_sources_ = num_sources;
  indptr_ = WordsToTensor(std::move(indptr));
  indices_ = WordsToTensor(std::move(indices));
  by_source_ = WordsToTensor(std::move(transposed.indptr));
  destinations_ = WordsToTensor(std::move(transposed.destinations));
  positions_ = WordsToTensor(std::move(transposed.positions));
}

kernels::EdgeView AttentionEdges::view() const {
  return {{ToWords(indptr_), ToWords(indices_)}, {ToWords(by_source_), ToWords(destinations_)}, ToWords(positions_)};
}

const EdgeTensors& AttentionEdges::ToDevice(torch::Device device) const {
  const bool has_copy = on_device_ != nullptr && on_device_->indptr.device() == device;
  if (has_copy) return *on_device_;
  const kernels::EdgeView edges = view();
  on_device_ =
      std::make_shared<const EdgeTensors>(ToEdgeTensors(edges.segments, edges.by_source, edges.positions, device));
  return *on_device_;
}

AttentionEdges AttentionEdges::FromSaved(const variable_list& saved) {
  ESPALIER_CHECK(saved.size() >= kEdgeTensors);
  AttentionEdges edges;
  edges.indptr_ = saved[0], edges.indices_ = saved[1], edges.by_source_ = saved[2];
  edges.destinations_ = saved[3], edges.positions_ = saved[4];
  edges.num_sources_ = edges.by_source_.numel() - 1;
  return edges;
}

void AttentionEdges::AppendTensorsTo(variable_list* saved) const {
  saved->insert(saved->end(), {indptr_, indices_, by_source_, destinations_, positions_});
}

torch::Tensor AdditiveEdgeScores(const AttentionEdges& edges, const torch::Tensor& source,
                                 const torch::Tensor& destination, double negative_slope) {
  CheckMatrix(source, edges.num_sources(), source.size(1));
  CheckMatrix(destination, edges.num_rows(), source.size(1));
  if (!UsesCpuKernels(source)) return LeakySums(edges.ToDevice(source.device()), source, destination, negative_slope);
  return AdditiveScore::apply(source, destination, edges, negative_slope);
}

torch::Tensor DynamicEdgeScores(const AttentionEdges& edges, const torch::Tensor& source,
                                const torch::Tensor& destination, const torch::Tensor& attention,
                                double negative_slope) {
  CheckMatrix(source, edges.num_sources(), attention.numel());
  CheckMatrix(destination, edges.num_rows(), attention.numel());
  if (!UsesCpuKernels(source)) {
    const torch::Tensor sums = LeakySums(edges.ToDevice(source.device()), source, destination, negative_slope);
    return (ViewByHead(sums, attention.size(0)) * attention).sum(2);
  }
  return DynamicScore::apply(source, destination, attention, edges, negative_slope);
}

torch::Tensor EdgeSoftmax(const AttentionEdges& edges, const torch::Tensor& scores) {
  CheckMatrix(scores, edges.num_edges(), scores.size(1));
  if (!UsesCpuKernels(scores)) return SoftmaxOverEdges(edges.ToDevice(scores.device()), scores);
  return SoftmaxOfEdges::apply(scores, edges);
}

torch::Tensor DropEdges(const AttentionEdges& edges, const torch::Tensor& weights, const EdgeDropout& dropout) {
  if (dropout.probability == 0) return weights;
  CheckMatrix(weights, edges.num_edges(), weights.size(1));
  CheckDropout(edges, dropout);
  if (!UsesCpuKernels(weights)) return DropEdgesByTorch(edges.ToDevice(weights.device()), weights, dropout);
  return weights * DropoutFactors(edges, weights.size(1), dropout);
}

torch::Tensor WeightedSegmentSum(const AttentionEdges& edges, const torch::Tensor& weights,
                                 const torch::Tensor& source) {
  CheckMatrix(weights, edges.num_edges(), weights.size(1));
  CheckMatrix(source, edges.num_sources(), source.size(1));
  ESPALIER_CHECK(source.size(1) % weights.size(1) == 0) << "all heads must have the same number of columns";
  if (!UsesCpuKernels(source)) return WeightedSumByTorch(edges.ToDevice(source.device()), weights, source);
  return WeightedSum::apply(weights, source, edges);
}

}  // namespace espalier::trainer
