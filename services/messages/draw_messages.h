// The options of draws in messages, both ways. Pure.
#pragma once

#include "espalier/graph/v1/graph.pb.h"
#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/status.h"
#include "services/sampler/spec/draw_spec.h"

namespace espalier::messages {

graph::v1::DrawMethod EncodeDrawMethod(sampler::DrawMethod method);
// kNeighbor where none is said. InvalidArgument for a method that does not exist.
Result<sampler::DrawMethod> DecodeDrawMethod(graph::v1::DrawMethod method);

// Sets the options of one hop's draws, or of a mini-batch's. Decoding gives an equal specification, or InvalidArgument
// where an option has a value that does not exist.
void EncodeDraw(const sampler::DrawSpec& draw, graph::v1::SampleNeighborsRequest* request);
Result<sampler::DrawSpec> DecodeDraw(const graph::v1::SampleNeighborsRequest& request);
void EncodeDraw(const sampler::DrawSpec& draw, minibatch::v1::SamplingSpec* spec);
Result<sampler::DrawSpec> DecodeDraw(const minibatch::v1::SamplingSpec& spec);

}  // namespace espalier::messages
