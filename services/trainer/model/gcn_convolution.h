// GCN (Kipf, Welling 2017), as DGL's GraphConv(norm='both') computes it, with the degrees of the whole graph:
//
//   y_v = sum over u in N(v): c_uv W x_u,   c_uv = (d_in(v) / k(v)) / sqrt(d_out(u) d_in(v))
//
// d_out and d_in count the relation's edges of the whole graph (with self loops: one more each, and u = v has
// c_vv = 1 / sqrt((d_out(v) + 1) (d_in(v) + 1))), k(v) the drawn ones. Where all are drawn, k(v) = d_in(v) and this is
// the paper's sum. For uniform draws its expectation is the paper's sum too, so that a model trained on samples and
// applied to full neighbourhoods is one model. (DGL takes the degrees of the sampled block instead: then the same
// node's sum grows with the square root of the fan-out.)
#pragma once

#include <string>

#include "services/trainer/model/relation_convolution.h"

namespace espalier::trainer {

class GcnConvolution final : public RelationConvolution {
 public:
  // `name`: of this module in its model, for the random stream.
  GcnConvolution(int64_t inputs, int64_t outputs, uint64_t seed, const std::string& name);

  torch::Tensor Forward(const RelationRows& rows) override;
  bool needs_degrees() const override { return true; }

 private:
  Linear linear_{nullptr};  // "fc"
};

}  // namespace espalier::trainer
