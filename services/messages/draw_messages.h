// Conversion of draw options to and from messages. Pure functions.
#pragma once

#include "espalier/graph/v1/graph.pb.h"
#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/status.h"
#include "services/sampler/spec/draw_spec.h"

namespace espalier::messages {

graph::v1::DrawMethod EncodeDrawMethod(sampler::DrawMethod method);
// Returns kNeighbor for an unspecified method, InvalidArgument for an unknown one.
Result<sampler::DrawMethod> DecodeDrawMethod(graph::v1::DrawMethod method);

// EncodeDraw sets the draw options of a hop request or of a mini-batch stream. DecodeDraw returns an equal DrawSpec, or
// InvalidArgument if an option has an unknown value. A hop request does not contain DrawSpec::expand.
void EncodeDraw(const sampler::DrawSpec& draw, graph::v1::SampleNeighborsRequest* request);
Result<sampler::DrawSpec> DecodeDraw(const graph::v1::SampleNeighborsRequest& request);
void EncodeDraw(const sampler::DrawSpec& draw, minibatch::v1::SamplingSpec* spec);
Result<sampler::DrawSpec> DecodeDraw(const minibatch::v1::SamplingSpec& spec);

}  // namespace espalier::messages
