// GraphSAGE (Hamilton, Ying, Leskovec 2017) as in DGL's SAGEConv. With N(v) the sampled in-neighbors:
//   Mean  W_self x_v + W_neigh mean(x_u, u in N(v))
//   GCN   W_neigh (sum(x_u, u in N(v)) + x_v) / (|N(v)| + 1)
//   Pool  W_self x_v + W_neigh max(relu(W_pool x_u + b_pool), u in N(v))
// The convolution ignores types: the edges of all relations form one neighborhood, and all node types share the
// weights. (R-GCN distinguishes relations.)
#pragma once

#include <string>

#include "services/trainer/model/convolution.h"
#include "services/trainer/model/linear.h"

namespace espalier::trainer {

class SageConvolution final : public Convolution {
 public:
  SageConvolution(job::Aggregator aggregator, int64_t inputs, int64_t outputs, graph::GraphSchema schema, uint64_t seed,
                  const std::string& name);

  torch::Tensor Forward(const sampler::BatchLayer& edges, const TypedRows& inputs, const WrittenRows& written,
                        const LayerRun& run) override;

 private:
  torch::Tensor Convolve(const kernels::Segments& block, const torch::Tensor& x);

  const job::Aggregator aggregator_;
  const graph::GraphSchema schema_;
  Linear pool_{nullptr};  // Pool only
  Linear self_{nullptr};  // null for GCN
  Linear neighbor_{nullptr};
};

}  // namespace espalier::trainer
