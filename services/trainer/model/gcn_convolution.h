// GCN (Kipf, Welling 2017) as in DGL's GraphConv(norm='both'), but with the degrees of the whole graph:
//
//   y_v = sum over u in N(v): c_uv W x_u,   c_uv = (d_in(v) / k(v)) / sqrt(d_out(u) d_in(v))
//
// d_out and d_in count the relation's edges in the whole graph, k(v) the sampled in-edges of v. With self-loops, both
// degrees under the root are one larger, and the self-loop of v has c_vv = 1 / sqrt((d_out(v) + 1) (d_in(v) + 1)). If
// all in-edges are sampled, k(v) = d_in(v) and this is the paper's sum. Under uniform sampling, the expectation is the
// paper's sum too, so that a model trained on samples can be applied to full neighborhoods. (DGL uses the degrees in
// the sampled block; there a node's sum grows with the square root of the fan-out.)
#pragma once

#include <string>

#include "services/trainer/model/relation_convolution.h"

namespace espalier::trainer {

class GcnConvolution final : public RelationConvolution {
 public:
  // `inputs` and `outputs` are the widths of rows. `name` is the name of the module in its model; the initial values
  // follow from it and the seed.
  GcnConvolution(int64_t inputs, int64_t outputs, uint64_t seed, const std::string& name);

  torch::Tensor Forward(const RelationRows& rows) override;
  bool needs_degrees() const override { return true; }

 private:
  Linear linear_{nullptr};  // "fc"
};

}  // namespace espalier::trainer
