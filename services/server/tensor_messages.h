// Converts requests of TensorStore to the arguments of PartitionTensors. Requests are untrusted; errors are
// InvalidArgument unless a comment names another.
#pragma once

#include <span>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/sampler/access/partition_tensors.h"
#include "services/server/limits.h"

namespace espalier::server {

// Returns the id of a tensor of the request's job.
Result<sampler::TensorId> ParseTensorId(const tensor::v1::TensorId& tensor,
                                        const tensor::v1::RequestIdentity& identity);
// ResourceExhausted: a row exceeds TensorLimits (CheckSpec).
Result<sampler::TensorSpec> ParseTensorSpec(const tensor::v1::CreateRequest& request);
// Returns the initializer; zeros if the message has no kind. Only the kind is checked; the caller checks the values
// with CheckSpec.
Result<sampler::Initializer> ParseInitializer(const tensor::v1::Initializer& requested);
Result<sampler::RowWrite> ParseRowWrite(tensor::v1::RowWrite write);
Result<sampler::Reduction> ParseReduction(tensor::v1::Reduction reduction);

// Returns a view of a tensor U32 [k] as local rows. ResourceExhausted: k exceeds limits.max_rows.
Result<std::span<const LocalRowId>> ParseLocalRows(const Tensor& tensor, const ServiceLimits& limits);

// Returns a CreateResponse or a DescribeTensorResponse.
template <class Response>
Response MakeDescription(const sampler::TensorDescription& description) {
  Response response;
  response.set_dtype(static_cast<uint32_t>(description.dtype));
  response.mutable_row_shape()->Add(description.row_shape.begin(), description.row_shape.end());
  response.set_creation(description.creation);
  response.set_maker(description.maker);
  response.set_complete(description.is_complete);
  response.set_num_own_rows(description.num_own_rows);
  return response;
}

}  // namespace espalier::server
