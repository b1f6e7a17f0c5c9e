#include "python/bindings/rows.h"

#include <map>

#include "python/bindings/waits.h"

#include "services/messages/wire_ids.h"

namespace espalier::python {

client::RowSpace MakeRowSpace(const client::DistGraph& graph, const std::string& of, uint32_t type, uint64_t num_rows) {
  using client::RowSpace;
  const RowSpace rows = of == "nodes"   ? RowSpace::Nodes(ValueOrThrow(messages::DecodeNodeType(type)))
                        : of == "edges" ? RowSpace::Edges(ValueOrThrow(messages::DecodeEdgeType(type)))
                                        : RowSpace::Own(num_rows);
  ThrowIfError(sampler::CheckRowSpace(rows, graph.book()));
  return rows;
}

sampler::DrawMethod ParseMethod(const std::string& name) {
  sampler::DrawMethod method{};
  if (sampler::ParseName(name, &method)) return method;
  throw StatusError(InvalidArgument("sampling method '" + name + "'; expected Neighbor, Labor or Last"));
}

graph::SplitPartName ParsePart(const std::string& name) {
  for (const auto part :
       {graph::SplitPartName::kTrain, graph::SplitPartName::kValidation, graph::SplitPartName::kTest}) {
    if (name == graph::ToString(part)) return part;
  }
  throw StatusError(InvalidArgument("part '" + name + "' of a split; expected train, validation or test"));
}

client::Initializer MakeInitializer(const std::string& kind, const std::vector<double>& values, uint64_t seed) {
  using client::Initializer;
  static const std::map<std::string, size_t> num_values = {
      {"zeros", 0}, {"constant", 1}, {"uniform", 2}, {"normal", 2}, {"xavier_uniform", 1}};
  const auto known = num_values.find(kind);
  if (known == num_values.end()) {
    throw StatusError(
        InvalidArgument("initializer '" + kind + "'; expected zeros, constant, uniform, normal or xavier_uniform"));
  }
  if (values.size() != known->second) {
    throw StatusError(InvalidArgument("initializer '" + kind + "' takes " + std::to_string(known->second) +
                                      " init_values, not " + std::to_string(values.size())));
  }
  if (kind == "zeros") return Initializer::Zeros();
  if (kind == "constant") return Initializer::Constant(values[0]);
  if (kind == "uniform") return Initializer::Uniform(values[0], values[1], seed);
  if (kind == "normal") return Initializer::Normal(values[0], values[1], seed);
  return Initializer::XavierUniform(values[0], seed);
}

}  // namespace espalier::python
