// Graph attention with H heads: y_v[h] = sum over u in N(v): a_uv[h] W[h] x_u, a_uv[h] = softmax over u of e_uv[h].
//
//   GAT (Velickovic et al. 2018)      e_uv[h] = LeakyReLU(a_src[h] . W[h] x_u + a_dst[h] . W[h] x_v)
//   GATv2 (Brody, Alon, Yahav 2022)   e_uv[h] = a[h] . LeakyReLU(W_src[h] x_u + W_dst[h] x_v); W = W_src
//
// These are the formulas of DGL's GATConv and GATv2Conv; as in DGL, W_src and W_dst of GATv2 have biases. Hidden layers
// concatenate the heads, the last layer averages them. In training, some of the a_uv[h] are dropped after the softmax.
// In a sampled neighborhood the softmax is over the sampled edges. Initial values have the same distributions as in
// DGL: Xavier normal with the gain of ReLU for all weights, zeros for biases.
#pragma once

#include <string>

#include "services/trainer/model/relation_convolution.h"

namespace espalier::trainer {

// How the outputs of the heads are combined.
enum class HeadsCombined { kSideBySide, kMean };

struct GatOptions {
  int64_t inputs = 0;        // width of the input rows
  kernels::HeadShape shape;  // `columns` is the width of each head's output
  HeadsCombined combined = HeadsCombined::kSideBySide;
  double negative_slope = 0.2;
  double attention_dropout = 0;
  uint64_t seed = 0;
};

class GatConvolution final : public RelationConvolution {
 public:
  // `name` is the name of the module in its model; the initial values follow from it and the seed.
  GatConvolution(const GatOptions& options, const std::string& name);
  torch::Tensor Forward(const RelationRows& rows) override;
  double edge_dropout() const override { return options_.attention_dropout; }

 private:
  const GatOptions options_;
  Linear linear_{nullptr};                                  // "fc"
  torch::Tensor attention_source_, attention_destination_;  // "attn_src", "attn_dst": f32 [H, C]
};

class Gatv2Convolution final : public RelationConvolution {
 public:
  Gatv2Convolution(const GatOptions& options, const std::string& name);
  torch::Tensor Forward(const RelationRows& rows) override;
  double edge_dropout() const override { return options_.attention_dropout; }

 private:
  const GatOptions options_;
  Linear source_{nullptr}, destination_{nullptr};  // "fc_src", "fc_dst"
  torch::Tensor attention_;                        // "attn": f32 [H, C]
};

}  // namespace espalier::trainer
