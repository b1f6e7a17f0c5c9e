// Mini-batches over edges, prepared ahead: what DGL calls DistEdgeDataLoader.
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
// A batch's `links` are the edges, their labels (edge_columns) and negatives (sampler/batches/mini_batch.h), its layers
// the neighbourhoods of all their ends, drawn without the batch's edges. Batches come in step order and are a pure
// function of (edges, seed, epoch, step, rank), as docs/edge-tasks.md says it: threads, sampler processes and
// partitions do not matter. Every rank gets the same number of batches; a share may be empty.
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

// A part of a named split: nobody holds it, each partition knows its own edges.
struct EdgesOfSplit {
  std::vector<EdgeTypeId> types;  // each once; their ends may be of any node types
  std::string split;
  graph::SplitPartName part = graph::SplitPartName::kTrain;
};

struct EdgeLoaderOptions {
  uint64_t batch_size = 0;  // edges, at least 1; of all ranks together, or of this rank where it has edges of its own
  bool shuffle = true;      // false: in the order of the list or split
  LastBatch last_batch = LastBatch::kKeep;
  // Drawn from the whole batch, not from a rank's share; where a rank has edges of its own, from those and from a
  // stream of its own. kInDegree: among the list's destinations, or those of the
  // split's training part. A count of 0 (kUniform): none, for tasks on the edges themselves.
  sampler::NegativeSpec negatives;
  // No hop draws an edge of the batch, nor its reverse (reverse_types), by their ends: decided before the draw, so
  // fan-outs stay full. (DGL's exclude='self' and 'reverse_types'.) Of a split, or a list that all ranks have: all
  // ranks' edges of the step; of a rank's own edges: its own.
  bool exclude_batch = true;
  // Of the loader's edge types: whose edges say the same with their ends swapped (may be the type itself).
  std::map<EdgeTypeId, EdgeTypeId> reverse_types = {};
  sampler::SamplingSpec sampling;  // fan-outs, seed
  int threads = 1;                 // of this process that draw; collate runs on one more
  uint32_t batches_ahead = 2;      // at least 1
  bool want_edge_ids = false;      // of drawn edges
  // Of the batch's own, which come as LinkSeeds::edge_ids; of one edge type. Lists with ids need no asking. Of a split:
  // each pair must be an edge of the graph, and one alone, or named by its number.
  bool want_pair_ids = false;
  // Labels and other columns of the batch's edges, which come as LinkSeeds::rows; of one edge type. Of a split: the
  // graph's, of the edges that the split means (docs/edge-tasks.md). Of a list: those kept with it, else those of its
  // ids, attached tensors too.
  std::vector<std::string> edge_columns = {};
  DrawnBy drawn_by = DrawnBy::kThisProcess;  // the sampler processes draw EdgesOfSplit alone
};

// What does not depend on the batches' type.
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
