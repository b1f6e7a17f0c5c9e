// States are lists sorted by name, so that LoadState compares two states in one pass and the digest does not depend on
// the order of registration. LoadState checks all tensors before it copies the first. FromTorch and ToTorch do not copy
// contiguous tensors on the CPU: the result holds a reference to the tensor that owns the memory.
#include "services/trainer/model/parameters.h"

#include <algorithm>
#include <memory>

#include "services/base/check.h"
#include "services/base/sha256.h"

namespace espalier::trainer {
namespace {

struct DTypePair {
  DType dtype;
  torch::ScalarType torch_dtype;
};
constexpr DTypePair kDTypes[] = {{DType::kBool, torch::kBool},   {DType::kU8, torch::kUInt8},
                                 {DType::kI8, torch::kInt8},     {DType::kI16, torch::kInt16},
                                 {DType::kI32, torch::kInt32},   {DType::kI64, torch::kInt64},
                                 {DType::kF16, torch::kHalf},    {DType::kBF16, torch::kBFloat16},
                                 {DType::kF32, torch::kFloat32}, {DType::kF64, torch::kFloat64}};

NamedTensors SortByName(NamedTensors tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return tensors;
}

void Append(NamedTensors& to, const torch::OrderedDict<std::string, torch::Tensor>& from) {
  for (const auto& item : from) to.emplace_back(item.key(), item.value());
}

}  // namespace

NamedTensors GetParameters(const Model& model) {
  NamedTensors result;
  Append(result, model.named_parameters());
  return SortByName(std::move(result));
}

NamedTensors GetBuffers(const Model& model) {
  NamedTensors result;
  Append(result, model.named_buffers());
  return SortByName(std::move(result));
}

NamedTensors GetState(const Model& model) {
  NamedTensors result;
  Append(result, model.named_parameters());
  Append(result, model.named_buffers());
  return SortByName(std::move(result));
}

torch::Tensor CopyToHost(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true);
}

Status LoadState(Model& model, const NamedTensors& state) {
  const NamedTensors mine = GetState(model);
  const NamedTensors given = SortByName(state);
  for (size_t i = 0; i < std::max(mine.size(), given.size()); ++i) {
    if (i == mine.size() || (i < given.size() && given[i].first < mine[i].first)) {
      return InvalidArgument("model state: '" + given[i].first + "' is unknown to this model");
    }
    if (i == given.size() || mine[i].first < given[i].first) {
      return InvalidArgument("model state: '" + mine[i].first + "' is missing");
    }
    if (mine[i].second.sizes() != given[i].second.sizes() ||
        mine[i].second.scalar_type() != given[i].second.scalar_type()) {
      return InvalidArgument("model state: '" + mine[i].first + "' is " + FromTorch(given[i].second).ToString() +
                             ", expected " + FromTorch(mine[i].second).ToString());
    }
  }
  torch::NoGradGuard no_gradient;
  for (size_t i = 0; i < mine.size(); ++i) {
    torch::Tensor target = mine[i].second;
    target.copy_(given[i].second);
  }
  return {};
}

std::string DigestParameters(const Model& model) {
  Sha256 digest;
  for (const auto& [name, tensor] : GetState(model)) {
    const Tensor bytes = FromTorch(tensor);
    // The length of each name is hashed too, so that different states never give the same sequence of bytes.
    digest.Update(std::to_string(name.size()) + ":" + name + " " + bytes.ToString() + "\n");
    digest.Update(bytes.byte_span());
  }
  return digest.HexDigest();
}

Tensor FromTorch(const torch::Tensor& tensor) {
  const auto* pair = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                  [&](const DTypePair& p) { return p.torch_dtype == tensor.scalar_type(); });
  ESPALIER_CHECK(pair != std::end(kDTypes)) << "unsupported dtype of torch: " << c10::toString(tensor.scalar_type());
  auto kept = std::make_shared<torch::Tensor>(tensor.detach().cpu().contiguous());
  std::vector<int64_t> shape = kept->sizes().vec();
  const void* data = kept->data_ptr();
  return Tensor::Wrap(pair->dtype, std::move(shape), data, std::move(kept));
}

torch::Tensor ToTorch(const Tensor& tensor) {
  const auto* pair = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                  [&](const DTypePair& p) { return p.dtype == tensor.dtype(); });
  ESPALIER_CHECK(pair != std::end(kDTypes)) << "unsupported dtype: " << ToString(tensor.dtype());
  // The deleter's copy of the tensor keeps the bytes alive.
  return torch::from_blob(
      const_cast<std::byte*>(tensor.bytes()), tensor.shape(), [tensor](void*) {}, pair->torch_dtype);
}

std::map<std::string, Tensor> ToTensors(const NamedTensors& state) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : state) tensors[name] = FromTorch(tensor);
  return tensors;
}

Result<NamedTensors> ToNamedTensors(const std::map<std::string, Tensor>& tensors) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) {
    if (std::ranges::find(kDTypes, tensor.dtype(), &DTypePair::dtype) == std::end(kDTypes)) {
      return InvalidArgument("model state: '" + name + "' is " + tensor.ToString() +
                             ": expected F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL");
    }
    result.emplace_back(name, ToTorch(tensor));
  }
  return result;
}

}  // namespace espalier::trainer
