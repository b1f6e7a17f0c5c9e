// The interfaces through which a trainer accesses the graph, independent of where its partitions are.
#pragma once

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/row_source.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/access/tensor_store.h"
#include "services/sampler/routing/embedding_store.h"
#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::trainer {

// Non-owning; the referenced objects outlive every copy.
struct GraphAccess {
  // All interfaces are those of `graph`. The conversion is implicit, so that an open graph can be passed to functions
  // that take a GraphAccess.
  GraphAccess(sampler::PartitionedGraph& graph)  // NOLINT(google-explicit-constructor)
      : neighbors(graph), rows(graph), seeds(graph), tensors(graph), embeddings(&graph.embeddings()) {}
  // Interfaces of different objects, some of which replace those of a graph.
  GraphAccess(sampler::NeighborSource& neighbors_of, sampler::RowSource& rows_of, sampler::SeedSource& seeds_of,
              sampler::TensorStore& tensors_of, sampler::EmbeddingStore* embeddings_of)
      : neighbors(neighbors_of), rows(rows_of), seeds(seeds_of), tensors(tensors_of), embeddings(embeddings_of) {}

  sampler::NeighborSource& neighbors;
  sampler::RowSource& rows;
  sampler::SeedSource& seeds;
  sampler::TensorStore& tensors;
  sampler::EmbeddingStore* embeddings;  // null: jobs with learnable rows are rejected

  const graph::GraphSchema& schema() const { return neighbors.book().schema(); }
};

// Limits for the waits of a run. A collective operation waits for ranks that wait for data, so its limit is larger.
struct Timeouts {
  std::chrono::seconds data{600};
  std::chrono::seconds collective{660};

  Deadline ForData() const { return Deadline::After(data); }
  Deadline ForCollective() const { return Deadline::After(collective); }
};

}  // namespace espalier::trainer
