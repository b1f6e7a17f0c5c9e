#include "services/trainer/model/gat_convolution.h"

#include <cmath>

#include "services/trainer/model/initialization.h"

namespace espalier::trainer {
namespace {

AttentionEdges MakeAttentionEdges(const RelationRows& rows) {
  const auto self_edges =
      rows.with_self_loops ? AttentionEdges::SelfEdges::kAppended : AttentionEdges::SelfEdges::kNone;
  return AttentionEdges(rows.segments, rows.source.size(0), self_edges);
}

// Returns an attention vector for each head, f32 [H, C]. DGL stores it as [1, H, C] and calls xavier_normal_, which
// treats a tensor of three dimensions as the kernel of a convolution: fan-in H C, fan-out C.
torch::Tensor MakeAttentionParameter(const GatOptions& options, const std::string& name) {
  torch::Tensor attention = torch::empty({options.shape.heads, options.shape.columns});
  const auto fans = static_cast<double>(options.shape.width() + options.shape.columns);
  FillNormal(attention, kReluGain * std::sqrt(2.0 / fans), options.seed, name);
  return attention;
}

Linear MakeProjection(const GatOptions& options, Bias bias, const std::string& name) {
  return Linear(options.inputs, options.shape.width(), bias, kReluGain, options.seed, name, WeightInit::kXavierNormal);
}

// Returns the dot products of each head's values with its attention vector: values f32 [N, H * C], attention f32 [H, C]
// -> f32 [N, H].
torch::Tensor ComputeHeadDots(const torch::Tensor& values, const torch::Tensor& attention) {
  return (values.view({values.size(0), attention.size(0), attention.size(1)}) * attention).sum(2);
}

// Computes the rows from the scores, f32 [edges, H], in the steps that GAT and GATv2 have in common: softmax, dropout,
// weighted sum of the values, combination of the heads.
torch::Tensor ApplyAttention(const GatOptions& options, const AttentionEdges& edges, const RelationRows& rows,
                             const torch::Tensor& scores, const torch::Tensor& values) {
  const torch::Tensor weights = DropEdges(edges, EdgeSoftmax(edges, scores), rows.dropout);
  const torch::Tensor sums = WeightedSegmentSum(edges, weights, values);
  switch (options.combined) {
    case HeadsCombined::kSideBySide: return sums;
    case HeadsCombined::kMean: break;
  }
  if (options.shape.heads == 1) return sums;
  return sums.view({sums.size(0), options.shape.heads, options.shape.columns}).mean(1);
}

}  // namespace

GatConvolution::GatConvolution(const GatOptions& options, const std::string& name)
    : options_(options),
      linear_(register_module("fc", MakeProjection(options, Bias::kNone, name + ".fc"))),
      attention_source_(register_parameter("attn_src", MakeAttentionParameter(options, name + ".attn_src"))),
      attention_destination_(register_parameter("attn_dst", MakeAttentionParameter(options, name + ".attn_dst"))) {}

torch::Tensor GatConvolution::Forward(const RelationRows& rows) {
  const AttentionEdges edges = MakeAttentionEdges(rows);
  const torch::Tensor values = linear_->forward(rows.source);
  const torch::Tensor destination_values =
      rows.with_self_loops ? values.narrow(0, 0, edges.num_rows()) : linear_->forward(rows.destination);
  const torch::Tensor scores =
      AdditiveEdgeScores(edges, ComputeHeadDots(values, attention_source_),
                         ComputeHeadDots(destination_values, attention_destination_), options_.negative_slope);
  return ApplyAttention(options_, edges, rows, scores, values);
}

Gatv2Convolution::Gatv2Convolution(const GatOptions& options, const std::string& name)
    : options_(options),
      source_(register_module("fc_src", MakeProjection(options, Bias::kZeros, name + ".fc_src"))),
      destination_(register_module("fc_dst", MakeProjection(options, Bias::kZeros, name + ".fc_dst"))),
      attention_(register_parameter("attn", MakeAttentionParameter(options, name + ".attn"))) {}

torch::Tensor Gatv2Convolution::Forward(const RelationRows& rows) {
  const AttentionEdges edges = MakeAttentionEdges(rows);
  const torch::Tensor values = source_->forward(rows.source);
  const torch::Tensor scores =
      DynamicEdgeScores(edges, values, destination_->forward(rows.destination), attention_, options_.negative_slope);
  return ApplyAttention(options_, edges, rows, scores, values);
}

}  // namespace espalier::trainer
