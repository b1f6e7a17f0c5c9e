#include "services/trainer/model/sage_convolution.h"

#include "services/trainer/model/initialization.h"
#include "services/trainer/model/merged_block.h"
#include "services/trainer/ops/autocast.h"
#include "services/trainer/ops/matrix_product.h"
#include "services/trainer/ops/segment_ops.h"

namespace espalier::trainer {

SageConvolution::SageConvolution(job::Aggregator aggregator, int64_t inputs, int64_t outputs, graph::GraphSchema schema,
                                 uint64_t seed, const std::string& name)
    : aggregator_(aggregator), schema_(std::move(schema)) {
  const auto linear = [&](const char* part, int64_t width, Bias bias) {
    return register_module(part, Linear(inputs, width, bias, kReluGain, seed, name + "." + part));
  };
  if (aggregator == job::Aggregator::kPool) pool_ = linear("fc_pool", inputs, Bias::kZeros);
  if (aggregator != job::Aggregator::kGcn) self_ = linear("fc_self", outputs, Bias::kNone);
  neighbor_ = linear("fc_neigh", outputs, Bias::kNone);
}

torch::Tensor SageConvolution::Forward(const sampler::BatchLayer& edges, const TypedRows& inputs,
                                       const WrittenRows& written, const LayerRun&) {
  if (inputs.size() == 1 && edges.blocks.size() == 1) return Convolve(ToSegments(edges.blocks.front()), inputs.front());
  const MergedBlock merged = MergeBlocks(schema_, edges, inputs, written);
  return Convolve(merged.segments(), merged.x);
}

torch::Tensor SageConvolution::Convolve(const kernels::Segments& block, const torch::Tensor& x) {
  switch (aggregator_) {
    case job::Aggregator::kMean: {
      const torch::Tensor both = torch::cat({self_->weight(), neighbor_->weight()}, 1);
      return ToF32(MatMul(SelfAndSegmentMean(block, x), both.t()));
    }
    case job::Aggregator::kGcn: return neighbor_->forward(SegmentMeanWithSelf(block, x));
    case job::Aggregator::kPool: {
      const torch::Tensor neighbors = SegmentMax(block, torch::relu(pool_->forward(x)));
      return self_->forward(x.narrow(0, 0, block.num_rows())) + neighbor_->forward(neighbors);
    }
  }
  ESPALIER_CHECK(false) << "unknown aggregator";
  return {};
}

}  // namespace espalier::trainer
