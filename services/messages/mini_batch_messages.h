// Conversion of mini-batches to and from the messages of MiniBatchStream. Pure.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/graph/partition_book.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::messages {

// Returns the message of a batch. `draw` holds the draw options that the sampler has decoded and used.
// ResourceExhausted if the header would exceed its size limit because of too many layers, relations and node types.
Result<grpc::ByteBuffer> EncodeMiniBatch(const sampler::MiniBatch& batch, const sampler::DrawSpec& draw);

// Decodes a received batch of the plan, drawn by the spec. Untrusted input: every count, row number and id is checked
// against the others, the book and the fan-outs, so that a model may index with them. The caller checks epoch and step.
// Unimplemented if the sampler, of another version, has used other draw options than `spec`.
Result<sampler::MiniBatch> DecodeMiniBatch(const grpc::ByteBuffer& message, const graph::PartitionBook& book,
                                           const sampler::EpochPlan& plan, const sampler::SamplingSpec& spec);

}  // namespace espalier::messages
