// R-GCN (Schlichtkrull et al. 2018): h_v = W_self x_v + sum over relations r of W_r mean(x_u, u in N_r(v)). With
// num_bases > 0, W_r = sum over b of a_rb V_b: all relations share the bases V_b.
#pragma once

#include <string>
#include <vector>

#include "services/trainer/model/convolution.h"
#include "services/trainer/model/linear.h"

namespace espalier::trainer {

class RgcnConvolution final : public Convolution {
 public:
  // relations: the relations that the layer samples, in the order of a BatchLayer's blocks. If num_bases is 0, each
  // relation has a matrix of its own.
  RgcnConvolution(std::vector<EdgeTypeId> relations, int64_t num_bases, int64_t inputs, int64_t outputs,
                  graph::GraphSchema schema, uint64_t seed, const std::string& name);

  torch::Tensor Forward(const sampler::BatchLayer& edges, const TypedRows& inputs, const WrittenRows& written,
                        const LayerRun& run) override;

 private:
  // Returns the matrices that the bases give, f32 [relations, in, out]; undefined without bases.
  torch::Tensor CombineBases() const;

  const std::vector<EdgeTypeId> relations_;
  const graph::GraphSchema schema_;
  Linear self_{nullptr};
  std::vector<torch::Tensor> weights_;  // f32 [in, out] by relation; empty with bases
  torch::Tensor bases_;                 // f32 [bases, in, out], or undefined
  torch::Tensor coefficients_;          // f32 [relations, bases], or undefined
};

}  // namespace espalier::trainer
