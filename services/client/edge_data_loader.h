// Prefetched mini-batches over seed edges. Counterpart of DGL's DistEdgeDataLoader.
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
// `links` of a mini-batch are the seed edges, their labels (edge_columns) and negatives (sampler/batches/mini_batch.h);
// its layers are the sampled neighborhoods of all end nodes, without the seed edges. Mini-batches are returned in the
// order of steps and are a pure function of (edges, seed, epoch, step, rank), defined in docs/edge-tasks.md: they do
// not depend on threads, sampler processes or partitions. Every rank gets the same number of mini-batches; the share of
// a rank may be empty.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/client/collated_batches.h"
#include "services/client/edge_list_seeds.h"
#include "services/client/edge_split.h"
#include "services/client/last_batch.h"
#include "services/client/loader_batches.h"

namespace espalier::client {

// A part of a named split. No process holds the list; each partition stores the part of its edges.
struct EdgesOfSplit {
  std::vector<EdgeTypeId> types;  // each once; their ends may be of any node types
  std::string split;
  graph::SplitPartName part = graph::SplitPartName::kTrain;
};

struct EdgeLoaderOptions {
  uint64_t batch_size = 0;  // edges, at least 1; of all ranks together, or of this rank for an EdgeShare
  bool shuffle = true;      // false: in the order of the list or split
  LastBatch last_batch = LastBatch::kKeep;
  // Negatives are sampled for the global mini-batch; for an EdgeShare, for this rank's edges, with random numbers of
  // its own. kInDegree samples among the destinations of the list, or of the training part of the split. A count of 0
  // (kUniform): no negatives, for tasks that predict labels of edges.
  sampler::NegativeSpec negatives;
  // Excludes the seed edges of the mini-batch and their reverse edges (reverse_types), by their end nodes, from every
  // hop. They are excluded before sampling, so that fan-outs stay full. Counterpart of DGL's exclude='self' and
  // 'reverse_types'. The seed edges are those of all ranks; for an EdgeShare, those of this rank.
  bool exclude_batch = true;
  // For the edge types of the loader: the edge type that has their reverse edges (may be the type itself).
  std::map<EdgeTypeId, EdgeTypeId> reverse_types = {};
  sampler::SamplingSpec sampling;  // fan-outs, seed
  int threads = 1;                 // that sample in this process; collate runs on one more
  uint32_t batches_ahead = 2;      // at least 1
  bool want_edge_ids = false;      // of sampled edges
  // Return the ids of the seed edges as LinkSeeds::edge_ids; for one edge type. For a split, each pair must be exactly
  // one edge of the graph, or be given by its id.
  bool want_pair_ids = false;
  // Columns of the seed edges to return as LinkSeeds::rows, such as labels; for one edge type. For a split, the columns
  // of the graph (docs/edge-tasks.md); for a list, the rows that it holds, else the columns or attached tensors of its
  // ids.
  std::vector<std::string> edge_columns = {};
  SampledBy sampled_by = SampledBy::kThisProcess;  // sampler processes support EdgesOfSplit only
};

// The part of a loader that does not depend on the type of its batches.
struct EdgeLoaderSource {
  std::unique_ptr<EdgeListSeeds> seeds;               // null: the graph's own
  std::unique_ptr<sampler::MiniBatchSource> batches;  // uses the seeds
};
// InvalidArgument where edges or options do not fit the graph, NotFound where the split or an edge column does not
// exist, FailedPrecondition where sampler processes are to draw and there are none.
Result<EdgeLoaderSource> MakeEdgeLoaderSource(const DistGraph& graph, const EdgesOfSplit& edges,
                                              const EdgeLoaderOptions& options);
Result<EdgeLoaderSource> MakeEdgeLoaderSource(const DistGraph& graph, EdgeList edges, const EdgeLoaderOptions& options);
Result<EdgeLoaderSource> MakeEdgeLoaderSource(const DistGraph& graph, EdgeShare share,
                                              const EdgeLoaderOptions& options);

// One consumer. T is what `collate` makes of a mini-batch: features fetched, tensors built, whatever training takes.
template <class T>
class EdgeDataLoader {
 public:
  using Collate = typename CollatedBatches<T>::Collate;

  // `graph` outlives the loader. `collate` runs on a thread of the loader, one batch at a time. `edges` are
  //   EdgesOfSplit, or an EdgeList that all ranks have: each takes its share of every batch
  //   (sampler::PositionsOfShare);
  //   an EdgeShare (EdgeSplit): this rank's own; a batch's global_num_seeds counts them alone. All ranks get as many
  //   batches as the largest share makes: where a rank's own are used up, its batches are empty.
  template <class Edges>
  static Result<std::unique_ptr<EdgeDataLoader>> Make(const DistGraph& graph, Edges edges,
                                                      const EdgeLoaderOptions& options, Collate collate) {
    ASSIGN_OR_RETURN(EdgeLoaderSource source, MakeEdgeLoaderSource(graph, std::move(edges), options));
    return std::unique_ptr<EdgeDataLoader>(new EdgeDataLoader(graph, std::move(source), options, std::move(collate)));
  }

  // Begins an epoch at a step, also in the middle of another one.
  Status StartEpoch(uint32_t epoch, uint32_t first_step = 0) { return batches_.StartEpoch(epoch, first_step); }
  // The next step's batch; nullopt after the epoch's last. After an error: the same as after the last batch.
  Result<std::optional<T>> Next() { return batches_.Next(); }

 private:
  EdgeDataLoader(const DistGraph& graph, EdgeLoaderSource source, const EdgeLoaderOptions& options, Collate collate)
      : source_(std::move(source)), batches_(graph, *source_.batches, options.batches_ahead, std::move(collate)) {}

  const EdgeLoaderSource source_;
  CollatedBatches<T> batches_;  // uses the source
};

// Batches as they are drawn.
using DistEdgeDataLoader = EdgeDataLoader<sampler::MiniBatch>;

}  // namespace espalier::client
