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
  // The interfaces are those of different objects, for example of a graph and of wrappers around it.
  GraphAccess(sampler::NeighborSource& neighbor_source, sampler::RowSource& row_source,
              sampler::SeedSource& seed_source, sampler::TensorStore& tensor_store,
              sampler::EmbeddingStore* embedding_store)
      : neighbors(neighbor_source),
        rows(row_source),
        seeds(seed_source),
        tensors(tensor_store),
        embeddings(embedding_store) {}

  sampler::NeighborSource& neighbors;
  sampler::RowSource& rows;
  sampler::SeedSource& seeds;
  sampler::TensorStore& tensors;
  sampler::EmbeddingStore* embeddings;  // null: jobs with learnable rows are rejected

  const graph::GraphSchema& schema() const { return neighbors.book().schema(); }
};

// Time limits of a run's operations. A rank in a collective operation waits for ranks that wait for data, so
// `collective` is larger.
struct Timeouts {
  std::chrono::seconds data{600};        // of a request for data
  std::chrono::seconds collective{660};  // of a collective operation

  Deadline ForData() const { return Deadline::After(data); }
  Deadline ForCollective() const { return Deadline::After(collective); }
};

}  // namespace espalier::trainer
