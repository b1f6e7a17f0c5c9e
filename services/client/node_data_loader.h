// Mini-batches over nodes, prepared ahead: what DGL calls DistNodeDataLoader.
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
// Batches come in step order and are a pure function of (nodes, seed, epoch, step, rank): threads, sampler processes
// and partitions do not matter. Every rank gets the same number of batches; a share may be empty.
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

// A part of a named split of the options' node type: nobody holds it, each partition knows its own nodes.
struct NodesOfSplit {
  std::string split;
  graph::SplitPartName part = graph::SplitPartName::kTrain;
};

struct NodeLoaderOptions {
  NodeTypeId seed_type;
  uint64_t batch_size = 0;  // at least 1; of all ranks together, or of this rank where it has nodes of its own
  bool shuffle = true;      // false: in the order of the list, or of the split's original ids
  LastBatch last_batch = LastBatch::kKeep;
  sampler::SamplingSpec sampling;  // fan-outs, seed
  int threads = 1;                 // of this process that draw; collate runs on one more
  uint32_t batches_ahead = 2;      // at least 1
  bool want_edge_ids = false;
  DrawnBy drawn_by = DrawnBy::kThisProcess;  // the sampler processes draw NodesOfSplit alone
};

// What does not depend on the batches' type.
struct NodeLoaderSource {
  std::unique_ptr<NodeListSeeds> seeds;               // null: the graph's own
  std::unique_ptr<sampler::MiniBatchSource> batches;  // uses the seeds
};
// InvalidArgument where nodes or options do not fit the graph, NotFound where the split does not exist,
// FailedPrecondition where sampler processes are to draw and there are none.
Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, const NodesOfSplit& nodes,
                                              const NodeLoaderOptions& options);
Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, std::vector<GlobalNodeId> nodes,
                                              const NodeLoaderOptions& options);
Result<NodeLoaderSource> MakeNodeLoaderSource(const DistGraph& graph, NodeShare share,
                                              const NodeLoaderOptions& options);

// One consumer. T is what `collate` makes of a mini-batch: features fetched, tensors built, whatever training takes.
template <class T>
class NodeDataLoader {
 public:
  using Collate = typename CollatedBatches<T>::Collate;

  // Over a split, or a list that all ranks have: each takes its share of every batch (sampler::ShareOfBatch).
  // `graph` outlives the loader. `collate` runs on a thread of the loader, one batch at a time.
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
  // Over this rank's own nodes (NodeSplit); a batch's global_num_seeds counts them alone. All ranks get as many batches
  // as the largest share makes: where a rank's own are used up, its batches are empty.
  static Result<std::unique_ptr<NodeDataLoader>> Make(const DistGraph& graph, NodeShare share,
                                                      const NodeLoaderOptions& options, Collate collate) {
    ASSIGN_OR_RETURN(NodeLoaderSource source, MakeNodeLoaderSource(graph, std::move(share), options));
    return std::unique_ptr<NodeDataLoader>(new NodeDataLoader(graph, std::move(source), options, std::move(collate)));
  }

  // Begins an epoch at a step, also in the middle of another one.
  Status StartEpoch(uint32_t epoch, uint32_t first_step = 0) { return batches_.StartEpoch(epoch, first_step); }
  // The next step's batch; nullopt after the epoch's last. After an error: the same as after the last batch.
  Result<std::optional<T>> Next() { return batches_.Next(); }

 private:
  NodeDataLoader(const DistGraph& graph, NodeLoaderSource source, const NodeLoaderOptions& options, Collate collate)
      : source_(std::move(source)), batches_(graph, *source_.batches, options.batches_ahead, std::move(collate)) {}

  const NodeLoaderSource source_;
  CollatedBatches<T> batches_;  // uses the source
};

// Batches as they are drawn.
using DistNodeDataLoader = NodeDataLoader<sampler::MiniBatch>;

}  // namespace espalier::client
