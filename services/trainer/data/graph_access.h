// The ways in which a trainer talks to the graph, wherever its partitions are.
#pragma once

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/row_source.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/access/tensor_store.h"
#include "services/sampler/routing/embedding_store.h"

namespace espalier::trainer {

// All outlive whoever holds this.
struct GraphAccess {
  sampler::NeighborSource& neighbors;
  sampler::RowSource& rows;
  sampler::SeedSource& seeds;
  sampler::TensorStore& tensors;
  sampler::EmbeddingStore* embeddings = nullptr;  // null: jobs with learnable rows are refused

  const graph::GraphSchema& schema() const { return neighbors.book().schema(); }
};

// How long the parts of a run may wait. A collective waits for ranks that wait for data, so it waits longer.
struct Timeouts {
  std::chrono::seconds data{600};
  std::chrono::seconds collective{660};

  Deadline ForData() const { return Deadline::After(data); }
  Deadline ForCollective() const { return Deadline::After(collective); }
};

}  // namespace espalier::trainer
