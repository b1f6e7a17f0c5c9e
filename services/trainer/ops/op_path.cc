#include "services/trainer/ops/op_path.h"

#include <atomic>

namespace espalier::trainer {
namespace {

// Atomic, because the threads of several ranks in one test read it.
std::atomic<int> num_torch_path_scopes = 0;

}  // namespace

bool UsesCpuKernels(const torch::Tensor& x) { return x.device().is_cpu() && num_torch_path_scopes.load() == 0; }

TorchPathScope::TorchPathScope() { ++num_torch_path_scopes; }
TorchPathScope::~TorchPathScope() { --num_torch_path_scopes; }

}  // namespace espalier::trainer
