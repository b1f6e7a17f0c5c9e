#include "services/client/remote/tensor_messages.h"

namespace espalier::client {

tensor::v1::TensorId ToProto(const sampler::TensorId& tensor) {
  tensor::v1::TensorId id;
  id.set_rows_of(static_cast<tensor::v1::RowsOf>(tensor.rows.of));
  id.set_type(tensor.rows.type);
  id.set_num_own_rows(tensor.rows.num_own_rows);
  id.set_name(tensor.name);
  id.set_creation(tensor.creation);
  return id;
}

tensor::v1::Initializer ToProto(const sampler::Initializer& initializer) {
  tensor::v1::Initializer proto;
  proto.set_seed(initializer.seed);
  proto.set_stream(initializer.stream);
  switch (initializer.kind) {
    case sampler::Initializer::Kind::kZeros: break;
    case sampler::Initializer::Kind::kConstant: proto.mutable_constant()->set_value(initializer.value); break;
    case sampler::Initializer::Kind::kUniform:
      proto.mutable_uniform()->set_low(initializer.low);
      proto.mutable_uniform()->set_high(initializer.high);
      break;
    case sampler::Initializer::Kind::kNormal:
      proto.mutable_normal()->set_mean(initializer.mean);
      proto.mutable_normal()->set_stddev(initializer.stddev);
      break;
    case sampler::Initializer::Kind::kXavierUniform: proto.mutable_xavier_uniform()->set_gain(initializer.gain); break;
    case sampler::Initializer::Kind::kPlugin:
      proto.mutable_plugin()->set_name(initializer.plugin);
      proto.mutable_plugin()->set_arguments(initializer.arguments);
      break;
  }
  return proto;
}

}  // namespace espalier::client
