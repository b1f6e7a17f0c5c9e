#include "services/client/node_split.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "services/sampler/seed_order.h"

namespace espalier::client {
namespace {

// The split in the order of original ids, a stretch at a time.
class SplitReader {
 public:
  SplitReader(const DistGraph& graph, NodeTypeId type, const std::string& split, graph::SplitPartName part,
              uint64_t nodes_per_question)
      : graph_(graph) {
    query_.node_type = type;
    query_.split = split;
    query_.part = part;
    query_.shuffle = false;
    query_.batch_size = nodes_per_question;
  }

  Result<uint64_t> Count() const { return graph_.partitions().CountOf(query_.node_type, query_.split, query_.part); }

  // Calls take(node) for each node at the positions [range.first, range.last) of the split.
  template <class Take>
  Status Read(const sampler::PositionRange& range, Take take) {
    for (uint64_t position = range.first; position < range.last;) {
      const uint64_t step = position / query_.batch_size;
      const uint64_t step_first = step * query_.batch_size;
      if (step > std::numeric_limits<uint32_t>::max()) {
        return InvalidArgument("a split of " + std::to_string(range.last) + " nodes in questions of " +
                               std::to_string(query_.batch_size) + ": 2^32 questions or more");
      }
      query_.step = static_cast<uint32_t>(step);
      ASSIGN_OR_RETURN(const sampler::GlobalBatch batch,
                       graph_.partitions().SeedsOfStep(query_, graph_.CallDeadline()));
      const uint64_t end = std::min(range.last, step_first + batch.seeds.size());
      if (end <= position) return Internal("split '" + query_.split + "' ends before its last node");
      for (; position < end; ++position) take(batch.seeds[position - step_first]);
    }
    return Status();
  }

 private:
  const DistGraph& graph_;
  sampler::SeedQuery query_;
};

Result<NodeShare> EvenShare(SplitReader& reader, uint64_t total, uint64_t num_ranks, uint64_t rank) {
  const uint64_t size = total / num_ranks;
  const uint64_t remainder = total % num_ranks;
  const uint64_t first = rank * size + std::min(rank, remainder);
  NodeShare share{.largest = size + (remainder > 0 ? 1 : 0)};
  share.nodes.reserve(size + (rank < remainder ? 1 : 0));
  const sampler::PositionRange range{first, first + size + (rank < remainder ? 1 : 0)};
  RETURN_IF_ERROR(reader.Read(range, [&](GlobalNodeId node) { share.nodes.push_back(node); }));
  return share;
}

Result<NodeShare> LocalShare(SplitReader& reader, uint64_t total, const DistGraph& graph, NodeTypeId type) {
  const uint64_t num_ranks = graph.world_size(), num_partitions = graph.book().num_partitions();
  std::vector<uint64_t> seen(num_partitions);  // nodes of each partition so far
  std::vector<uint64_t> sizes(num_ranks);
  NodeShare share;
  const auto take = [&](GlobalNodeId node) {
    const uint64_t partition = graph.book().OwnerOf(type, node).value;
    uint64_t rank = partition % num_ranks;
    if (num_ranks > num_partitions) {
      const uint64_t takers = (num_ranks - 1 - partition) / num_partitions + 1;
      rank = partition + seen[partition] % takers * num_partitions;
    }
    ++seen[partition];
    ++sizes[rank];
    if (rank == graph.rank().value) share.nodes.push_back(node);
  };
  RETURN_IF_ERROR(reader.Read({0, total}, take));
  share.largest = *std::max_element(sizes.begin(), sizes.end());
  return share;
}

}  // namespace

Result<NodeShare> NodeSplit(const DistGraph& graph, NodeTypeId type, const std::string& split,
                            graph::SplitPartName part, const NodeSplitOptions& options) {
  if (options.nodes_per_question == 0) return InvalidArgument("a node split needs questions of at least 1 node");
  SplitReader reader(graph, type, split, part, options.nodes_per_question);
  ASSIGN_OR_RETURN(const uint64_t total, reader.Count());
  switch (options.by) {
    case SplitBy::kEven: return EvenShare(reader, total, graph.world_size(), graph.rank().value);
    case SplitBy::kLocality: break;
  }
  return LocalShare(reader, total, graph, type);
}

}  // namespace espalier::client
