// Where the mini-batches of a data loader are drawn.
#pragma once

#include <memory>

#include "services/client/dist_graph.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::client {

enum class DrawnBy {
  kThisProcess,  // by threads of the loader
  // By the job's sampler processes (Context::samplers), to the same numbers: of the training part of a split, for all
  // ranks together. They serve their job: SessionOptions::job is its name, and seed, batch size, split, number of
  // layers and how neighbours and negatives are drawn are those of its spec.training, or Next is FailedPrecondition and
  // names the first that is not.
  kSamplers,
};

struct LoaderDraws {
  DrawnBy by = DrawnBy::kThisProcess;
  sampler::SamplingSpec sampling;
  int threads = 1;             // of kThisProcess
  uint32_t batches_ahead = 2;  // of kSamplers for each of them
  bool want_edge_ids = false;
};

// `seeds`: a list's; null: the graph's splits. Both outlive what is made. With kSamplers FailedPrecondition where the
// job has none, InvalidArgument where the batches are none that they draw.
Result<std::unique_ptr<sampler::MiniBatchSource>> MakeLoaderBatches(const DistGraph& graph, sampler::SeedSource* seeds,
                                                                    sampler::EpochPlan plan, const LoaderDraws& draws);

}  // namespace espalier::client
