#include "services/trainer/model/rgcn_convolution.h"

#include "services/base/check.h"
#include "services/trainer/model/initialization.h"
#include "services/trainer/model/relation_rows.h"
#include "services/trainer/ops/autocast.h"
#include "services/trainer/ops/matrix_product.h"
#include "services/trainer/ops/segment_ops.h"

namespace espalier::trainer {

RgcnConvolution::RgcnConvolution(std::vector<EdgeTypeId> relations, int64_t num_bases, int64_t inputs, int64_t outputs,
                                 graph::GraphSchema schema, uint64_t seed, const std::string& name)
    : relations_(std::move(relations)), schema_(std::move(schema)) {
  self_ = register_module("self", Linear(inputs, outputs, Bias::kNone, kReluGain, seed, name + ".self"));
  if (relations_.empty()) return;
  if (num_bases > 0) {
    bases_ = torch::empty({num_bases, inputs, outputs});
    for (int64_t b = 0; b < num_bases; ++b) {
      FillXavierUniform(bases_[b], kReluGain, seed, name + ".bases." + std::to_string(b));
    }
    bases_ = register_parameter("bases", bases_);
    coefficients_ = torch::empty({static_cast<int64_t>(relations_.size()), num_bases});
    FillXavierUniform(coefficients_, kReluGain, seed, name + ".coefficients");
    coefficients_ = register_parameter("coefficients", coefficients_);
    return;
  }
  for (const EdgeTypeId relation : relations_) {
    const std::string key = RelationModuleName(schema_, relation);
    torch::Tensor weight = torch::empty({inputs, outputs});
    FillXavierUniform(weight, kReluGain, seed, name + "." + key);
    weights_.push_back(register_parameter(key, weight));
  }
}

torch::Tensor RgcnConvolution::CombineBases() const {
  if (!bases_.defined()) return {};
  const int64_t inputs = bases_.size(1), outputs = bases_.size(2);
  return MatMul(coefficients_, bases_.reshape({bases_.size(0), inputs * outputs})).reshape({-1, inputs, outputs});
}

torch::Tensor RgcnConvolution::Forward(const sampler::BatchLayer& edges, const TypedRows& inputs,
                                       const WrittenRows& written, const LayerRun&) {
  ESPALIER_CHECK(edges.blocks.size() == relations_.size()) << "expected a block for each sampled relation";
  torch::Tensor sum = self_->forward(SelfRows(inputs, written));
  const torch::Tensor combined = CombineBases();
  for (size_t r = 0; r < relations_.size(); ++r) {
    const sampler::Block& block = edges.blocks[r];
    const int64_t first_row = written.first[schema_.DestinationOf(relations_[r]).value];
    // Negative: this layer writes no rows of the destination type, on any trainer, so the relation is skipped.
    if (first_row < 0) continue;
    const OccupiedRows occupied = FindOccupiedRows(block, first_row);
    const torch::Tensor means =
        SegmentMean({occupied.indptr, block.indices}, inputs[schema_.SourceOf(relations_[r]).value]);
    const torch::Tensor weight = combined.defined() ? combined[static_cast<int64_t>(r)] : weights_[r];
    sum = AddToRows(sum, ToF32(MatMul(means, weight)), occupied.rows);
  }
  return sum;
}

}  // namespace espalier::trainer
