// Conversion of mini-batches to and from the messages of MiniBatchStream. Pure functions.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/graph/partition_book.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::messages {

// Returns the message of a batch. `draw` holds the draw options that the sampler has decoded and used.
// ResourceExhausted if the header exceeds its size limit: the batch has too many layers, relations or node types.
Result<grpc::ByteBuffer> EncodeMiniBatch(const sampler::MiniBatch& batch, const sampler::DrawSpec& draw);

// Returns the batch of a message. `plan` and `spec` are those of the stream. Untrusted input: InvalidArgument if
// counts, row numbers and ids do not match each other, `plan`, `book` or the fan-outs. A model may use the row numbers
// of the returned batch as indices without checks. The caller checks epoch and step. Unimplemented if the sampler has
// used other draw options than those of `spec`, as a sampler of another version may.
Result<sampler::MiniBatch> DecodeMiniBatch(const grpc::ByteBuffer& message, const graph::PartitionBook& book,
                                           const sampler::EpochPlan& plan, const sampler::SamplingSpec& spec);

}  // namespace espalier::messages
