#include "services/sampler/access/partition_embeddings.h"

#include "services/sampler/access/state_name.h"

namespace espalier::sampler {

Status CheckEmbedding(const EmbeddingSpec& spec) {
  constexpr uint32_t kMaxWidth = 65'536, kMaxTrainers = 65'536;
  if (spec.dtype != DType::kF32 && spec.dtype != DType::kF16 && spec.dtype != DType::kBF16) {
    return InvalidArgument(std::string("learnable rows of ") + ToString(spec.dtype) + "; expected F32, F16 or BF16");
  }
  if (spec.width == 0 || spec.width > kMaxWidth) {
    return InvalidArgument("learnable rows of " + std::to_string(spec.width) + " values; expected 1 to " +
                           std::to_string(kMaxWidth));
  }
  if (spec.num_trainers == 0 || spec.num_trainers > kMaxTrainers) {
    return InvalidArgument("learnable rows that " + std::to_string(spec.num_trainers) +
                           " trainers update; expected 1 to " + std::to_string(kMaxTrainers) + " trainers");
  }
  if (spec.first_version >= uint64_t{1} << 62) {
    return InvalidArgument("learnable rows created at version " + std::to_string(spec.first_version) +
                           "; expected a version below 2^62");
  }
  RETURN_IF_ERROR(CheckSparseOptimizer(spec.optimizer));
  RETURN_IF_ERROR(CheckIsNotState(spec.id.name));
  return CheckSpec(ToRowsSpec(spec));
}

TensorSpec ToRowsSpec(const EmbeddingSpec& spec) {
  TensorSpec rows{
      .id = spec.id, .dtype = spec.dtype, .row_shape = {int64_t{spec.width}}, .initializer = spec.initializer};
  rows.id.incarnation = spec.incarnation;
  return rows;
}

TensorId ToStateId(TensorId embedding) {
  embedding.name += kStateSuffix;
  return embedding;
}

size_t StateRowWidth(const EmbeddingSpec& spec) {
  return (spec.dtype == DType::kF32 ? 0 : spec.width) + StateWidth(spec.optimizer.type, spec.width);
}

}  // namespace espalier::sampler
