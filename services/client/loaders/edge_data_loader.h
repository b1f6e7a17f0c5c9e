// Data loader over seed edges that prefetches mini-batches. Counterpart of DGL's DistEdgeDataLoader.
//
//   EdgeLoaderOptions options{.batch_size = 1024, .negatives = {sampler::NegativeKind::kUniform, 5}, .sampling = spec};
//   options.reverse_types = {{follows, followed_by}};
//   const EdgesOfSplit train{{follows}, "links"};
//   ASSIGN_OR_RETURN(auto loader, EdgeDataLoader<Batch>::Make(*graph, train, options, collate));
//   RETURN_IF_ERROR(loader->StartEpoch(0));
//   for (;;) {
//     ASSIGN_OR_RETURN(std::optional<Batch> batch, loader->Next());
//     if (!batch) break;
//     ...
//   }
//
// MiniBatch::links has the seed edges, their labels (edge_columns) and negatives (sampler/batches/mini_batch.h). The
// layers are the neighborhoods of the endpoints of seed edges and negatives; exclude_batch selects whether the seed
// edges are left out of them. Batches are returned in step order. A batch is a pure function of (edges, options, epoch,
// step, rank, world size) and, with several ranks, of the partition book (sampler::PositionsOfShare), specified in
// docs/edge-tasks.md; it does not depend on the number of threads or sampler processes. Every rank gets the same number
// of batches; a rank's share of a batch may be empty.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/client/loaders/collated_batches.h"
#include "services/client/loaders/edge_list_seeds.h"
#include "services/client/loaders/last_batch.h"
#include "services/client/loaders/loader_batches.h"
#include "services/client/splits/edge_split.h"

namespace espalier::client {

// One part of a named split of edges. The loader does not hold the list of edges; it reads the seeds of each step from
// the partitions that own them.
struct EdgesOfSplit {
  std::vector<EdgeTypeId> types;  // distinct; their endpoints may have any node types
  std::string split;
  graph::SplitPartName part = graph::SplitPartName::kTrain;
};

struct EdgeLoaderOptions {
  // Seed edges per step, at least 1: of all ranks together or, if the edges are an EdgeShare, of this rank only.
  uint64_t batch_size = 0;
  bool shuffle = true;  // false: in the order of the list or split
  LastBatch last_batch = LastBatch::kKeep;
  // Negative sampling. Negatives are sampled for the global batch; with an EdgeShare, for this rank's batch and from a
  // random stream of this rank. kInDegree samples from the destinations of the list, or of the split's training part.
  // kUniform with a count of 0 means no negatives, for edge classification and regression.
  sampler::NegativeSpec negatives;
  // Excludes the seed edges and their reverses (reverse_types) from sampling in every hop. Edges are compared by their
  // endpoints, so edges parallel to a seed edge are excluded too. Exclusion precedes sampling, so other edges fill the
  // fan-out. (DGL's exclude='self' and 'reverse_types'.) For a split, or a list that is the same on all ranks, the seed
  // edges of all ranks in the step are excluded; with an EdgeShare, only those of this rank.
  bool exclude_batch = true;
  // Key: an edge type of the loader. Value: the edge type that has the same edges with source and destination swapped,
  // which may be the key itself.
  std::map<EdgeTypeId, EdgeTypeId> reverse_types = {};
  sampler::SamplingSpec sampling;  // fan-outs, seed
  int threads = 1;                 // sampling threads in this process; collate runs on an additional thread
  // At least 1: number of batches that are sampled ahead (with kSamplers, by each sampler process), and number of
  // batches that `collate` converts ahead.
  uint32_t batches_ahead = 2;
  bool want_edge_ids = false;  // whether blocks contain the ids of sampled edges
  // Requests the ids of the seed edges in LinkSeeds::edge_ids; for loaders with one edge type. A list must have ids if
  // this is set; a loader over a list with ids returns them even if it is not set. For a split without edge numbers
  // (docs/graph-formats.md), the graph must have exactly one edge between the endpoints of each seed edge.
  bool want_pair_ids = false;
  // Labels and other columns of the seed edges, returned in LinkSeeds::rows; for loaders with one edge type. For a
  // split: columns of the graph, for the edges that the split refers to (docs/edge-tasks.md). For a list: columns of
  // EdgeList::rows, otherwise columns of the graph or attached tensors, which are read by edge id.
  std::vector<std::string> edge_columns = {};
  SampledBy sampled_by = SampledBy::kThisProcess;  // kSamplers supports only the training part of an EdgesOfSplit
  // The cache from which `collate` reads rows. In addition to `batches_ahead`, the loader samples
  // FeatureCacheOptions::steps mini-batches ahead, so that the cache keeps the rows that are read next. Null: no cache.
  std::shared_ptr<FeatureCache> feature_cache = {};
};

// The part of an EdgeDataLoader that does not depend on its batch type.
struct EdgeLoaderSource {
  std::shared_ptr<sampler::PartitionedGraph> graph;   // referenced by `seeds` and `batches`
  std::unique_ptr<EdgeListSeeds> seeds;               // null: seeds are read from the graph's splits
  std::unique_ptr<sampler::MiniBatchSource> batches;  // references `seeds`
};
// Creates the source of an EdgeDataLoader. InvalidArgument: edges or options do not fit the graph. NotFound: there is
// no such split or edge column. FailedPrecondition: SampledBy::kSamplers without sampler processes, or another loader
// uses the feature cache.
Result<EdgeLoaderSource> MakeEdgeLoaderSource(const DistGraph& graph, const EdgesOfSplit& edges,
                                              const EdgeLoaderOptions& options);
Result<EdgeLoaderSource> MakeEdgeLoaderSource(const DistGraph& graph, EdgeList edges, const EdgeLoaderOptions& options);
Result<EdgeLoaderSource> MakeEdgeLoaderSource(const DistGraph& graph, EdgeShare share,
                                              const EdgeLoaderOptions& options);

// Data loader with batches of type T, for one consumer thread. `collate` converts a mini-batch to T: it may fetch
// features, build tensors, or prepare anything else that training needs. Its second argument is the deadline of its
// queries, which also ends when the epoch is canceled or abandoned.
template <class T>
class EdgeDataLoader {
 public:
  using Collate = typename CollatedBatches<T>::Collate;

  // Creates a loader that keeps the graph open. `collate` is called on a thread of the loader, for one batch at a time.
  // Errors are those of MakeEdgeLoaderSource. `edges` is one of
  //   EdgesOfSplit, or an EdgeList that is the same on all ranks: each rank takes its share of every batch
  //   (sampler::PositionsOfShare);
  //   EdgeShare, the edges of this rank (EdgeSplit): MiniBatch::global_num_seeds counts this rank's seeds only. All
  //   ranks get the number of batches of the largest share; a rank whose edges are used up gets empty batches.
  template <class Edges>
  static Result<std::unique_ptr<EdgeDataLoader>> Make(const DistGraph& graph, Edges edges,
                                                      const EdgeLoaderOptions& options, Collate collate) {
    ASSIGN_OR_RETURN(EdgeLoaderSource source, MakeEdgeLoaderSource(graph, std::move(edges), options));
    return std::unique_ptr<EdgeDataLoader>(new EdgeDataLoader(graph, std::move(source), options, std::move(collate)));
  }

  // Starts an epoch at `first_step`. An unfinished epoch is abandoned. FailedPrecondition: this process was forked from
  // the process that created the loader.
  Status StartEpoch(uint32_t epoch, uint32_t first_step = 0) { return batches_.StartEpoch(epoch, first_step); }
  // Blocks until the batch of the next step is ready and returns it. Returns nullopt after the last batch of the epoch
  // and after an earlier call has returned an error. FailedPrecondition: StartEpoch was not called.
  Result<std::optional<T>> Next() { return batches_.Next(); }
  // Like Next, but returns DeadlineExceeded when the deadline has passed, and Cancelled when its stop was requested.
  // The caller may then request the batch again. If the batch itself fails with one of these codes, the epoch has
  // ended, and later calls return nullopt.
  Result<std::optional<T>> NextBefore(const Deadline& deadline) { return batches_.NextBefore(deadline); }
  // Ends the epoch and its queries early. A pending Next and all later calls return Cancelled until StartEpoch. Any
  // thread may call it.
  void Cancel() { batches_.Cancel(); }

 private:
  EdgeDataLoader(const DistGraph& graph, EdgeLoaderSource source, const EdgeLoaderOptions& options, Collate collate)
      : source_(std::move(source)),
        batches_(graph.context().call_timeout, *source_.batches, options.batches_ahead, std::move(collate)) {}

  const EdgeLoaderSource source_;
  CollatedBatches<T> batches_;  // references source_
};

// A loader whose batches are not converted.
using DistEdgeDataLoader = EdgeDataLoader<sampler::MiniBatch>;

}  // namespace espalier::client
