// Rows, their initial values, sampling methods and parts of splits, from the names that Python gives them.
#pragma once

#include <string>
#include <vector>

#include "services/client/tensors/dist_tensor.h"

namespace espalier::python {

// `of`: "nodes" or "edges" of a type, or "own" with `num_rows`. Throws InvalidArgument for a type that does not exist.
client::RowSpace MakeRowSpace(const client::DistGraph& graph, const std::string& of, uint32_t type, uint64_t num_rows);
// "Neighbor", "Labor" or "Last". Throws InvalidArgument.
sampler::DrawMethod ParseMethod(const std::string& name);
// "train", "validation" or "test". Throws InvalidArgument.
graph::SplitPartName ParsePart(const std::string& name);
// `kind`: "zeros", "constant" (values: the value), "uniform" (low, high), "normal" (mean, standard deviation) or
// "xavier_uniform" (gain). Throws InvalidArgument.
client::Initializer MakeInitializer(const std::string& kind, const std::vector<double>& values, uint64_t seed);

}  // namespace espalier::python
