// The first message of a MiniBatchStream, both ways. Pure.
#pragma once

#include <string>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/messages/service_limits.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::messages {

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

// What fixes an epoch's batches; identity, epoch, first_step and stride are the caller's to set.
minibatch::v1::StreamStart EncodeStart(const sampler::EpochPlan& plan, const sampler::SamplingSpec& spec);
// Untrusted input; fan-outs are checked against the graph by the sampler.
Result<StreamPlan> DecodeStart(const minibatch::v1::StreamStart& start, const ServiceLimits& limits);

}  // namespace espalier::messages
