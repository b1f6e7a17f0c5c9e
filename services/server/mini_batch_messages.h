// Messages of MiniBatchStream <-> values. Pure.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/graph/partition_book.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"
#include "services/server/limits.h"

namespace espalier::server {

// What a stream was asked for.
struct StreamPlan {
  sampler::EpochPlan plan;
  sampler::SamplingSpec spec;
  std::string job;  // whose incarnation that is
  uint64_t incarnation = 0;
  uint32_t epoch = 0;
  uint32_t first_step = 0;
  uint32_t stride = 1;
  bool want_edge_ids = false;  // of drawn edges
};

// Untrusted input; fan-outs are checked against the graph by the sampler.
Result<StreamPlan> StreamPlanOf(const minibatch::v1::StreamStart& start, const ServiceLimits& limits);

// The most edges that one rank's share of a batch can draw: nodes times fan-out, layer after layer. Without
// replacement a relation gives at most its edges once; full neighbourhoods are not counted, the graph bounds them.
uint64_t MostDrawsOf(const StreamPlan& stream, const graph::PartitionBook& book);
// ResourceExhausted where that is more than limits.max_draws_per_batch.
Status CheckDraws(const StreamPlan& stream, const graph::PartitionBook& book, const ServiceLimits& limits);

// ResourceExhausted where layers, relations and node types are so many that the header would not be read.
Result<grpc::ByteBuffer> EncodeMiniBatch(const sampler::MiniBatch& batch);

}  // namespace espalier::server
