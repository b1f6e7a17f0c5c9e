// A user's TorchScript module, built in C++: GraphSAGE with mean aggregation over one node type, with the interface of
// script_model.h.
#pragma once

#include <torch/script.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "services/trainer/model/module_file.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {

// Returns the source of a forward() that computes `mean`, [S, F], the mean over the in-neighbors of each of the first S
// rows of `h`, then runs `lines` and returns `y`.
inline std::string ForwardOfMean(const std::string& lines) {
  return R"(
def forward(self, layer: int, x: Dict[str, Tensor], blocks: Dict[str, Tuple[Tensor, Tensor]],
            num_rows: Dict[str, int]) -> Dict[str, Tensor]:
    h = x["node"]
    indptr, indices = blocks["node:edge:node"]
    degree = indptr[1:] - indptr[:-1]
    rows = torch.repeat_interleave(torch.arange(degree.size(0)), degree)
    total = torch.zeros([degree.size(0), h.size(1)]).index_add(0, rows, h.index_select(0, indices))
    mean = total / degree.clamp(min=1).unsqueeze(1)
)" + lines +
         "    return {\"node\": y}\n";
}

inline const std::string kMeanForward = ForwardOfMean(R"(
    if layer == 0:
        y = torch.mm(torch.cat([h[:degree.size(0)], mean], 1), self.weight0)
        y = torch.relu(y)
    else:
        y = torch.mm(torch.cat([h[:degree.size(0)], mean], 1), self.weight1)
)");

// Returns a module with the parameters weight0 f32 [2 * features, hidden] and weight1 f32 [2 * hidden, outputs], and a
// buffer "calls" f32 [1], which kMeanForward does not use.
inline torch::jit::Module MeanModule(int64_t features, int64_t hidden, int64_t outputs,
                                     const std::string& forward = kMeanForward) {
  torch::jit::Module module("Mean");
  const auto parameter = [](uint64_t seed, int64_t rows, int64_t columns) {
    return (RandomMatrix(seed, rows, columns) * 0.4).set_requires_grad(true);
  };
  if (!module.hasattr("training")) module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("weight0", parameter(1, 2 * features, hidden), /*is_buffer=*/false);
  module.register_parameter("weight1", parameter(2, 2 * hidden, outputs), /*is_buffer=*/false);
  module.register_parameter("calls", torch::zeros({1}), /*is_buffer=*/true);
  module.define(forward);
  return module;
}

inline std::shared_ptr<const ModuleFile> ToModuleFile(const torch::jit::Module& module) {
  std::ostringstream archive(std::ios::binary);
  module.save(archive);
  return std::make_shared<const ModuleFile>(ModuleFile{"mem://test/model.pt", archive.str(), "0123"});
}

}  // namespace espalier::trainer
