// Data loader over seed nodes, with prefetching. Counterpart of DGL's DistNodeDataLoader.
//
//   NodeLoaderOptions options{.seed_type = paper, .batch_size = 1024, .sampling = spec};
//   ASSIGN_OR_RETURN(auto loader, NodeDataLoader<Batch>::Make(*graph, train_nodes, options, collate));
//   RETURN_IF_ERROR(loader->StartEpoch(0));
//   for (;;) {
//     ASSIGN_OR_RETURN(std::optional<Batch> batch, loader->Next());
//     if (!batch) break;
//     ...
//   }
//
// Batches are returned in step order. A batch is a pure function of (nodes, batch size, shuffle, sampling, epoch, step,
// rank, world size) and, with several ranks, of the partition book (sampler::ShareOfBatch). It does not depend on the
// number of threads or sampler processes. Every rank gets the same number of batches; a rank's share of a batch may be
// empty.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/client/graph/dist_graph.h"
#include "services/client/loaders/collated_batches.h"
#include "services/client/loaders/loader_batches.h"
#include "services/client/loaders/node_list_seeds.h"
#include "services/client/splits/node_split.h"

namespace espalier::client {

// One part of a named split of NodeLoaderOptions::seed_type. The loader does not hold the list of nodes; it reads the
// seeds of each step from the partitions that own them.
struct NodesOfSplit {
  std::string split;
  graph::SplitPartName part = graph::SplitPartName::kTrain;
};

struct NodeLoaderOptions {
  NodeTypeId seed_type;
  uint64_t batch_size = 0;  // at least 1: seeds per step of all ranks together; for a NodeShare, of this rank only
  bool shuffle = true;      // false: in the order of the list, or of original ids in a split
  LastBatch last_batch = LastBatch::kKeep;
  sampler::SamplingSpec sampling;  // fan-outs, seed
  int threads = 1;                 // sampling threads in this process; collate runs on an additional thread
  // At least 1: number of batches that are sampled ahead (with kSamplers, by each sampler process), and number of
  // batches that `collate` converts ahead.
  uint32_t batches_ahead = 2;
  bool want_edge_ids = false;                      // whether blocks contain edge ids
  SampledBy sampled_by = SampledBy::kThisProcess;  // kSamplers supports only the training part of a NodesOfSplit
  // The cache from which `collate` reads rows. The loader samples FeatureCacheOptions::steps mini-batches ahead, so
  // that the cache keeps the rows that are read next. Null: no cache.
  std::shared_ptr<FeatureCache> feature_cache = {};
};

// The part of a NodeDataLoader that does not depend on its batch type.
struct NodeLoaderSource {
  std::shared_ptr<sampler::PartitionedGraph> graph;   // referenced by `batches`
  std::unique_ptr<NodeListSeeds> seeds;               // null: seeds are read from the graph's splits
  std::unique_ptr<sampler::MiniBatchSource> batches;  // references `seeds`
};
// Creates the source of a NodeDataLoader. InvalidArgument: nodes, options and graph do not fit together. NotFound:
// there is no such split. FailedPrecondition: SampledBy::kSamplers without sampler processes, or another loader uses
// the feature cache.
Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, const NodesOfSplit& nodes,
                                              const NodeLoaderOptions& options);
Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, std::vector<GlobalNodeId> nodes,
                                              const NodeLoaderOptions& options);
Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, NodeShare share,
                                              const NodeLoaderOptions& options);

// Data loader with batches of type T, for one consumer thread. `collate` converts a mini-batch to T: it may fetch
// features, build tensors, or prepare anything else that training needs. Its second argument is the deadline of its
// queries, which also ends when the epoch is canceled or abandoned.
template <class T>
class NodeDataLoader {
 public:
  using Collate = typename CollatedBatches<T>::Collate;

  // Creates a loader over a split, or over a list that is the same on all ranks. Each rank takes its share of every
  // batch (sampler::ShareOfBatch). The loader holds a reference to the graph. `collate` is called on a thread of the
  // loader, for one batch at a time. Errors are those of MakeNodeLoaderSource.
  static Result<std::unique_ptr<NodeDataLoader>> Make(const DistGraph& graph, const NodesOfSplit& nodes,
                                                      const NodeLoaderOptions& options, Collate collate) {
    ASSIGN_OR_RETURN(NodeLoaderSource source, MakeNodeLoaderSource(graph, nodes, options));
    return std::unique_ptr<NodeDataLoader>(new NodeDataLoader(graph, std::move(source), options, std::move(collate)));
  }
  static Result<std::unique_ptr<NodeDataLoader>> Make(const DistGraph& graph, std::vector<GlobalNodeId> nodes,
                                                      const NodeLoaderOptions& options, Collate collate) {
    ASSIGN_OR_RETURN(NodeLoaderSource source, MakeNodeLoaderSource(graph, std::move(nodes), options));
    return std::unique_ptr<NodeDataLoader>(new NodeDataLoader(graph, std::move(source), options, std::move(collate)));
  }
  // Creates a loader over this rank's own nodes (NodeSplit). MiniBatch::global_num_seeds counts this rank's seeds only.
  // All ranks get the number of batches of the largest share; a rank whose nodes are used up gets empty batches.
  static Result<std::unique_ptr<NodeDataLoader>> Make(const DistGraph& graph, NodeShare share,
                                                      const NodeLoaderOptions& options, Collate collate) {
    ASSIGN_OR_RETURN(NodeLoaderSource source, MakeNodeLoaderSource(graph, std::move(share), options));
    return std::unique_ptr<NodeDataLoader>(new NodeDataLoader(graph, std::move(source), options, std::move(collate)));
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
  NodeDataLoader(const DistGraph& graph, NodeLoaderSource source, const NodeLoaderOptions& options, Collate collate)
      : source_(std::move(source)),
        batches_(graph.context().call_timeout, *source_.batches, options.batches_ahead, std::move(collate)) {}

  const NodeLoaderSource source_;
  CollatedBatches<T> batches_;  // references source_
};

// A loader whose batches are not converted.
using DistNodeDataLoader = NodeDataLoader<sampler::MiniBatch>;

}  // namespace espalier::client
