// Batches of MiniBatchStream, both ways. Pure.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/graph/partition_book.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::messages {

// `draw` is what the batch was drawn by, as the sampler has read it. ResourceExhausted where layers, relations and node
// types are so many that the header would not be read.
Result<grpc::ByteBuffer> EncodeMiniBatch(const sampler::MiniBatch& batch, const sampler::DrawSpec& draw);

// A received batch of the plan, drawn by the spec. Untrusted input: every count, row number and id is checked against
// the others, the book and the fan-outs, so that a model may index with them. Epoch and step are the caller's to check.
// Unimplemented: the sampler has drawn by other options than `spec`, because it is of another version.
Result<sampler::MiniBatch> DecodeMiniBatch(const grpc::ByteBuffer& message, const graph::PartitionBook& book,
                                           const sampler::EpochPlan& plan, const sampler::SamplingSpec& spec);

}  // namespace espalier::messages
