// Makes row spaces, initializers, sampling methods and parts of splits from the strings that the Python classes pass.
// Functions that throw InvalidArgument throw a StatusError (waits.h) with that code.
#pragma once

#include <string>
#include <vector>

#include "services/client/tensors/dist_tensor.h"

namespace espalier::python {

// `of`: "nodes" or "edges" for one row per node or edge of `type`, "own" for `num_rows` rows. Throws InvalidArgument
// for a type that does not exist.
client::RowSpace MakeRowSpace(const client::DistGraph& graph, const std::string& of, uint32_t type, uint64_t num_rows);
// `name`: "Neighbor", "Labor" or "Last". Throws InvalidArgument for another name.
sampler::DrawMethod ParseMethod(const std::string& name);
// `name`: "train", "validation" or "test". Throws InvalidArgument for another name.
graph::SplitPartName ParsePart(const std::string& name);
// `kind`: "zeros", "constant" (values: the value), "uniform" (low, high), "normal" (mean, standard deviation) or
// "xavier_uniform" (gain). Throws InvalidArgument for another kind or another number of values.
client::Initializer MakeInitializer(const std::string& kind, const std::vector<double>& values, uint64_t seed);

}  // namespace espalier::python
