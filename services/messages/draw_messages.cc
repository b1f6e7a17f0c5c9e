#include "services/messages/draw_messages.h"

#include <string>

namespace espalier::messages {
namespace {

// A template for SampleNeighborsRequest and SamplingSpec, whose fields have the same names.
template <class Message>
void EncodeOptions(const sampler::DrawSpec& draw, Message* message) {
  message->set_method(EncodeDrawMethod(draw.method));
  message->set_layer_dependency(draw.layer_dependency);
  message->set_replace(draw.replace);
  message->set_weight_column(draw.weight_column);
  message->set_time_column(draw.time_column);
}

template <class Message>
Result<sampler::DrawSpec> DecodeOptions(const Message& message) {
  sampler::DrawSpec draw{.layer_dependency = message.layer_dependency(),
                         .replace = message.replace(),
                         .weight_column = message.weight_column(),
                         .time_column = message.time_column()};
  ASSIGN_OR_RETURN(draw.method, DecodeDrawMethod(message.method()));
  return draw;
}

minibatch::v1::Expand EncodeExpand(sampler::Expand expand) {
  switch (expand) {
    case sampler::Expand::kAlways: return minibatch::v1::EXPAND_ALWAYS;
    case sampler::Expand::kOnce: return minibatch::v1::EXPAND_ONCE;
  }
  return minibatch::v1::EXPAND_UNSPECIFIED;
}

Result<sampler::Expand> DecodeExpand(minibatch::v1::Expand expand) {
  switch (expand) {
    case minibatch::v1::EXPAND_UNSPECIFIED:
    case minibatch::v1::EXPAND_ALWAYS: return sampler::Expand::kAlways;
    case minibatch::v1::EXPAND_ONCE: return sampler::Expand::kOnce;
    default: return InvalidArgument("value " + std::to_string(expand) + " of the option expand does not exist");
  }
}

}  // namespace

graph::v1::DrawMethod EncodeDrawMethod(sampler::DrawMethod method) {
  switch (method) {
    case sampler::DrawMethod::kNeighbor: return graph::v1::DRAW_METHOD_NEIGHBOR;
    case sampler::DrawMethod::kLabor: return graph::v1::DRAW_METHOD_LABOR;
    case sampler::DrawMethod::kLast: return graph::v1::DRAW_METHOD_LAST;
  }
  return graph::v1::DRAW_METHOD_UNSPECIFIED;
}

Result<sampler::DrawMethod> DecodeDrawMethod(graph::v1::DrawMethod method) {
  switch (method) {
    case graph::v1::DRAW_METHOD_UNSPECIFIED:
    case graph::v1::DRAW_METHOD_NEIGHBOR: return sampler::DrawMethod::kNeighbor;
    case graph::v1::DRAW_METHOD_LABOR: return sampler::DrawMethod::kLabor;
    case graph::v1::DRAW_METHOD_LAST: return sampler::DrawMethod::kLast;
    default: return InvalidArgument("draw method " + std::to_string(method) + " does not exist");
  }
}

void EncodeDraw(const sampler::DrawSpec& draw, graph::v1::SampleNeighborsRequest* request) {
  EncodeOptions(draw, request);
}

Result<sampler::DrawSpec> DecodeDraw(const graph::v1::SampleNeighborsRequest& request) {
  return DecodeOptions(request);
}

void EncodeDraw(const sampler::DrawSpec& draw, minibatch::v1::SamplingSpec* spec) {
  EncodeOptions(draw, spec);
  spec->set_expand(EncodeExpand(draw.expand));
}

Result<sampler::DrawSpec> DecodeDraw(const minibatch::v1::SamplingSpec& spec) {
  ASSIGN_OR_RETURN(sampler::DrawSpec draw, DecodeOptions(spec));
  ASSIGN_OR_RETURN(draw.expand, DecodeExpand(spec.expand()));
  return draw;
}

}  // namespace espalier::messages
