#include "services/server/tensor_messages.h"

#include <limits>

#include "services/messages/request_tensors.h"
#include "services/sampler/access/state_name.h"

namespace espalier::server {

static_assert(sizeof(LocalRowId) == sizeof(uint32_t));
static_assert(static_cast<int>(sampler::RowsOf::kOwn) == tensor::v1::ROWS_OF_OWN);
static_assert(static_cast<int>(sampler::RowWrite::kOr) == tensor::v1::ROW_WRITE_OR);
static_assert(static_cast<int>(sampler::Reduction::kMax) == tensor::v1::REDUCTION_MAX);

Result<sampler::TensorId> ParseTensorId(const tensor::v1::TensorId& tensor,
                                        const tensor::v1::RequestIdentity& identity) {
  if (!tensor::v1::RowsOf_IsValid(tensor.rows_of())) {
    return InvalidArgument("rows of kind " + std::to_string(tensor.rows_of()) + " do not exist");
  }
  if (tensor.type() > std::numeric_limits<uint16_t>::max()) {
    return InvalidArgument("type " + std::to_string(tensor.type()) + " does not exist");
  }
  sampler::TensorId id;
  id.rows.of = static_cast<sampler::RowsOf>(tensor.rows_of());
  const bool is_own = id.rows.of == sampler::RowsOf::kOwn;
  if (is_own ? tensor.type() != 0 : tensor.num_own_rows() != 0) {
    return InvalidArgument(is_own ? "the tensor has rows of its own and a type: expected type 0"
                                  : "the tensor has rows of a type and a number of own rows: expected 0 own rows");
  }
  id.rows.type = static_cast<uint16_t>(tensor.type());
  id.rows.num_own_rows = tensor.num_own_rows();
  RETURN_IF_ERROR(graph::CheckName("tensor", tensor.name()));
  id.name = tensor.name();
  id.job = identity.job();
  id.incarnation = identity.incarnation();
  id.creation = tensor.creation();
  return id;
}

Result<sampler::Initializer> ParseInitializer(const tensor::v1::Initializer& requested) {
  using sampler::Initializer;
  Initializer initializer;
  switch (requested.kind_case()) {
    case tensor::v1::Initializer::kConstant: initializer = Initializer::Constant(requested.constant().value()); break;
    case tensor::v1::Initializer::kUniform:
      initializer = Initializer::Uniform(requested.uniform().low(), requested.uniform().high(), requested.seed());
      break;
    case tensor::v1::Initializer::kNormal:
      initializer = Initializer::Normal(requested.normal().mean(), requested.normal().stddev(), requested.seed());
      break;
    case tensor::v1::Initializer::kXavierUniform:
      initializer = Initializer::XavierUniform(requested.xavier_uniform().gain(), requested.seed());
      break;
    case tensor::v1::Initializer::kPlugin:
      initializer = Initializer::Plugin(requested.plugin().name(), requested.plugin().arguments(), requested.seed());
      break;
    case tensor::v1::Initializer::KIND_NOT_SET:
      // An unset kind means zeros, unless a newer client has set a field that this program does not know.
      if (requested.GetReflection()->GetUnknownFields(requested).empty()) break;
      return InvalidArgument(
          "this server does not support the kind of the initializer: the server may be older than the client");
  }
  initializer.stream = requested.stream();
  return initializer;
}

Result<sampler::TensorSpec> ParseTensorSpec(const tensor::v1::CreateRequest& request) {
  sampler::TensorSpec spec;
  ASSIGN_OR_RETURN(spec.id, ParseTensorId(request.tensor(), request.identity()));
  if (request.dtype() > 0xff || !IsValidDType(static_cast<uint8_t>(request.dtype()))) {
    return InvalidArgument("dtype number " + std::to_string(request.dtype()) + " does not exist");
  }
  if (request.maker() == 0) return InvalidArgument("the maker is 0: expected a random number");
  spec.maker = request.maker();
  spec.dtype = static_cast<DType>(request.dtype());
  spec.row_shape.assign(request.row_shape().begin(), request.row_shape().end());
  ASSIGN_OR_RETURN(spec.initializer, ParseInitializer(request.initializer()));
  RETURN_IF_ERROR(CheckSpec(spec));
  RETURN_IF_ERROR(sampler::CheckIsNotState(spec.id.name));
  return spec;
}

Result<sampler::RowWrite> ParseRowWrite(tensor::v1::RowWrite write) {
  if (tensor::v1::RowWrite_IsValid(write)) return static_cast<sampler::RowWrite>(write);
  return InvalidArgument("there is no write of kind " + std::to_string(write));
}

Result<sampler::Reduction> ParseReduction(tensor::v1::Reduction reduction) {
  const bool is_known = tensor::v1::Reduction_IsValid(reduction) && reduction != tensor::v1::REDUCTION_UNSPECIFIED;
  if (is_known) return static_cast<sampler::Reduction>(reduction);
  return InvalidArgument("there is no reduction of kind " + std::to_string(reduction));
}

Result<std::span<const LocalRowId>> ParseLocalRows(const Tensor& tensor, const ServiceLimits& limits) {
  RETURN_IF_ERROR(messages::CheckIdTensor(tensor, /*wide_allowed=*/false, limits));
  return std::span<const LocalRowId>(reinterpret_cast<const LocalRowId*>(tensor.bytes()),
                                     static_cast<size_t>(tensor.num_elements()));
}

}  // namespace espalier::server
