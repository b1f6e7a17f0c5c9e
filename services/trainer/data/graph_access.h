// The interfaces through which a trainer accesses the graph, independent of where its partitions are.
#pragma once

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/row_source.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/access/tensor_store.h"
#include "services/sampler/routing/embedding_store.h"

namespace espalier::trainer {

// Non-owning; the referenced objects outlive every copy.
struct GraphAccess {
  sampler::NeighborSource& neighbors;
  sampler::RowSource& rows;
  sampler::SeedSource& seeds;
  sampler::TensorStore& tensors;
  sampler::EmbeddingStore* embeddings = nullptr;  // null: jobs with learnable rows are rejected

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
