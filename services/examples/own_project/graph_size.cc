// A shared library with C functions for other languages. Espalier's libraries are compiled with -fPIC, so they can be
// linked into it.
#include <array>
#include <cstdint>
#include <vector>

#include "espalier/client/dist_graph.h"
#include "espalier/kernels/segments.h"

// Returns the number of nodes of the graph that the environment describes (ESPALIER_PARTITIONS, ESPALIER_SERVERS), or a
// negated status code.
extern "C" int64_t GraphSize() {
  const auto context = espalier::client::Initialize(espalier::client::ProcessEnvironment());
  if (!context.ok()) return -static_cast<int64_t>(context.status().code());
  const auto graph = espalier::client::DistGraph::Open(*context);
  if (!graph.ok()) return -static_cast<int64_t>(graph.status().code());
  return static_cast<int64_t>((*graph)->num_nodes());
}

// Returns the sum of `count` rows with one value each.
extern "C" float SumRows(const float* rows, uint32_t count) {
  const std::array<uint32_t, 2> indptr{0, count};
  std::vector<uint32_t> indices(count);
  for (uint32_t i = 0; i < count; ++i) indices[i] = i;
  float sum = 0;
  espalier::kernels::SumSegments({.segments = {indptr, indices}, .width = 1, .source = {rows, 1}, .out = {&sum, 1}});
  return sum;
}
