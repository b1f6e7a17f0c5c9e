// Prefetched mini-batches over seed nodes. Counterpart of DGL's DistNodeDataLoader.
//
//   NodeLoaderOptions options{.seed_type = paper, .batch_size = 1024, .sampling = spec};
//   ASSIGN_OR_RETURN(auto loader, NodeDataLoader<Batch>::Make(*graph, train_nodes, options, collate));
//   RETURN_IF_ERROR(loader->StartEpoch(0));
//   for (;;) {
//     ASSIGN_OR_RETURN(std::optional<Batch> batch, loader->Next());
//     if (!batch) break;
//     ...
//   }
// Mini-batches are returned in the order of steps and are a pure function of (nodes, seed, epoch, step, rank): they do
// not depend on threads, sampler processes or partitions. Every rank gets the same number of mini-batches; the share of
// a rank may be empty.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/client/collated_batches.h"
#include "services/client/dist_graph.h"
#include "services/client/loader_batches.h"
#include "services/client/node_list_seeds.h"
#include "services/client/node_split.h"

namespace espalier::client {

// A part of a named split of the seed type. No process holds the list; each partition stores the part of its nodes.
struct NodesOfSplit {
  std::string split;
  graph::SplitPartName part = graph::SplitPartName::kTrain;
};

struct NodeLoaderOptions {
  NodeTypeId seed_type;
  uint64_t batch_size = 0;  // at least 1; of all ranks together, or of this rank for a NodeShare
  bool shuffle = true;      // false: in the order of the list, or of the split's original ids
  LastBatch last_batch = LastBatch::kKeep;
  sampler::SamplingSpec sampling;  // fan-outs, seed
  int threads = 1;                 // that sample in this process; collate runs on one more
  uint32_t batches_ahead = 2;      // at least 1
  bool want_edge_ids = false;
  SampledBy sampled_by = SampledBy::kThisProcess;  // sampler processes support NodesOfSplit only
};

// The part of a loader that does not depend on the type of its batches.
struct NodeLoaderSource {
  std::unique_ptr<NodeListSeeds> seeds;               // null: the graph's own
  std::unique_ptr<sampler::MiniBatchSource> batches;  // uses the seeds
};
// InvalidArgument: the nodes or options do not fit the graph; NotFound: the split does not exist; FailedPrecondition:
// sampled_by is kSamplers and the job has no sampler processes.
Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, const NodesOfSplit& nodes,
                                              const NodeLoaderOptions& options);
Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, std::vector<GlobalNodeId> nodes,
                                              const NodeLoaderOptions& options);
Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, NodeShare share,
                                              const NodeLoaderOptions& options);

// Single consumer. T is the return type of `collate`, which converts a mini-batch to what training needs: it gathers
// features, builds tensors.
template <class T>
class NodeDataLoader {
 public:
  using Collate = typename CollatedBatches<T>::Collate;

  // Iterates over a split, or over a list that all ranks pass: each rank takes its share of every global mini-batch
  // (sampler::ShareOfBatch). `graph` must outlive the loader. `collate` runs on one thread of the loader.
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
  // Iterates over this rank's own nodes (NodeSplit); global_num_seeds of a mini-batch counts these alone. All ranks get
  // as many mini-batches as the rank with the most nodes; those after the end of a rank's own nodes are empty.
  static Result<std::unique_ptr<NodeDataLoader>> Make(const DistGraph& graph, NodeShare share,
                                                      const NodeLoaderOptions& options, Collate collate) {
    ASSIGN_OR_RETURN(NodeLoaderSource source, MakeNodeLoaderSource(graph, std::move(share), options));
    return std::unique_ptr<NodeDataLoader>(new NodeDataLoader(graph, std::move(source), options, std::move(collate)));
  }

  // Starts an epoch at a step, also before the end of the current one.
  Status StartEpoch(uint32_t epoch, uint32_t first_step = 0) { return batches_.StartEpoch(epoch, first_step); }
  // Returns the batch of the next step, or nullopt after the last one of the epoch. After an error, returns nullopt.
  Result<std::optional<T>> Next() { return batches_.Next(); }

 private:
  NodeDataLoader(const DistGraph& graph, NodeLoaderSource source, const NodeLoaderOptions& options, Collate collate)
      : source_(std::move(source)), batches_(graph, *source_.batches, options.batches_ahead, std::move(collate)) {}

  const NodeLoaderSource source_;
  CollatedBatches<T> batches_;  // uses the source
};

// A loader that returns mini-batches as they are sampled.
using DistNodeDataLoader = NodeDataLoader<sampler::MiniBatch>;

}  // namespace espalier::client
