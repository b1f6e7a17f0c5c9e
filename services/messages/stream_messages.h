// Conversion of the first message of a MiniBatchStream. Pure functions.
#pragma once

#include <string>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/messages/service_limits.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::messages {

// The contents of a stream's first message.
struct StreamPlan {
  sampler::EpochPlan plan;
  sampler::SamplingSpec spec;
  std::string job;  // name of the job; `incarnation` is one of this job
  uint64_t incarnation = 0;
  uint32_t epoch = 0;
  uint32_t first_step = 0;
  uint32_t stride = 1;         // the stream has the steps first_step, first_step + stride, ...
  bool want_edge_ids = false;  // of drawn edges
};

// Returns the message with the contents of `plan` and `spec`; the caller sets identity, epoch, first_step, stride and
// want_edge_ids.
minibatch::v1::StreamStart EncodeStart(const sampler::EpochPlan& plan, const sampler::SamplingSpec& spec);
// Returns the contents. Untrusted input: InvalidArgument if the message is invalid, ResourceExhausted if it exceeds the
// limits; the sampler checks the fan-outs against the graph.
Result<StreamPlan> DecodeStart(const minibatch::v1::StreamStart& start, const ServiceLimits& limits);

}  // namespace espalier::messages
