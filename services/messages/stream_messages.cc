#include "services/messages/stream_messages.h"

#include "services/messages/draw_messages.h"
#include "services/messages/edge_messages.h"
#include "services/messages/link_messages.h"
#include "services/messages/wire_ids.h"

namespace espalier::messages {

minibatch::v1::StreamStart EncodeStart(const sampler::EpochPlan& plan, const sampler::SamplingSpec& spec) {
  minibatch::v1::StreamStart start;
  start.set_seed_type(plan.seed_type.value);
  start.set_split(plan.split);
  start.set_batch_size(plan.batch_size);
  start.set_shuffle(plan.shuffle);
  start.set_num_trainers(plan.num_trainers);
  start.set_rank(plan.rank.value);
  EncodeDraw(spec.draw, start.mutable_sampling());
  start.mutable_sampling()->set_seed(spec.seed);
  start.mutable_sampling()->set_seed_time_column(spec.seed_time_column);
  if (plan.links() != nullptr) *start.mutable_links() = EncodeLinkPlan(*plan.links());
  if (plan.edges() != nullptr) *start.mutable_edges() = EncodeEdgePlan(*plan.edges());
  for (const sampler::LayerSpec& layer : spec.layers) {
    start.mutable_sampling()->add_layers()->mutable_fanouts()->Add(layer.fanouts.begin(), layer.fanouts.end());
  }
  return start;
}

Result<StreamPlan> DecodeStart(const minibatch::v1::StreamStart& start, const ServiceLimits& limits) {
  if (start.batch_size() == 0) return InvalidArgument("a batch size of 0");
  if (start.stride() == 0) return InvalidArgument("a stride of 0");
  if (start.num_trainers() == 0 || start.rank() >= start.num_trainers()) {
    return InvalidArgument("rank " + std::to_string(start.rank()) + " of " + std::to_string(start.num_trainers()) +
                           " trainers");
  }
  if (start.num_trainers() > limits.max_trainers) {
    return ResourceExhausted(std::to_string(start.num_trainers()) + " trainers, the limit is " +
                             std::to_string(limits.max_trainers));
  }
  if (start.batch_size() > limits.max_rows) {
    return ResourceExhausted("a batch of " + std::to_string(start.batch_size()) + " seeds, the limit is " +
                             std::to_string(limits.max_rows));
  }
  if (static_cast<uint32_t>(start.sampling().layers_size()) > limits.max_layers) {
    return ResourceExhausted(std::to_string(start.sampling().layers_size()) + " layers, the limit is " +
                             std::to_string(limits.max_layers));
  }
  StreamPlan stream;
  ASSIGN_OR_RETURN(stream.plan.seed_type, DecodeNodeType(start.seed_type()));
  stream.plan.split = start.split();
  stream.plan.batch_size = start.batch_size();
  stream.plan.shuffle = start.shuffle();
  stream.plan.num_trainers = start.num_trainers();
  stream.plan.rank = Rank(start.rank());
  if (start.has_links() && start.has_edges()) return InvalidArgument("batches are of links or of edges, not of both");
  if (start.has_edges()) {
    ASSIGN_OR_RETURN(stream.plan.seeds, DecodeEdgePlan(start.edges()));
  }
  if (start.has_links()) {
    ASSIGN_OR_RETURN(stream.plan.seeds, DecodeLinkPlan(start, limits));
  }
  stream.job = start.identity().job();
  stream.incarnation = start.identity().incarnation();
  stream.epoch = start.epoch();
  stream.first_step = start.first_step();
  stream.stride = start.stride();
  stream.want_edge_ids = start.want_edge_ids();
  ASSIGN_OR_RETURN(stream.spec.draw, DecodeDraw(start.sampling()));
  stream.spec.seed = start.sampling().seed();
  stream.spec.seed_time_column = start.sampling().seed_time_column();
  stream.spec.max_edges = limits.max_draws_per_batch;
  for (const minibatch::v1::LayerSpec& layer : start.sampling().layers()) {
    for (const int32_t fanout : layer.fanouts()) {
      if (fanout > limits.max_fanout) {
        return ResourceExhausted("fan-out " + std::to_string(fanout) + ", the limit is " +
                                 std::to_string(limits.max_fanout));
      }
    }
    stream.spec.layers.push_back({{layer.fanouts().begin(), layer.fanouts().end()}});
  }
  return stream;
}

}  // namespace espalier::messages
