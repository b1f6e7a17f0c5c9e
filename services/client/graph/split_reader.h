// Reads the seeds of a named split in several queries, so that only the seeds of one query are held in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/select_rows.h"
#include "services/client/graph/dist_graph.h"
#include "services/client/remote/row_pieces.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {

// A node of a split, or an edge given by its endpoints.
struct SplitItem {
  GlobalNodeId node;         // a node, or the destination of an edge
  GlobalNodeId source = {};  // edges only
  uint64_t position = 0;     // in the split
  GlobalEdgeId edge = {};    // edges only, if RequestEdgeIds was called
};

// Reads one part of a split: nodes in the order of original ids, edges in the order of the input files. For one thread.
class SplitReader {
 public:
  // Reads the nodes or edges of `type`; one query reads `items_per_request` of them (at least 1). `graph` must outlive
  // the reader.
  SplitReader(const DistGraph& graph, NodeTypeId type, const std::string& split, graph::SplitPartName part,
              uint64_t items_per_request)
      : SplitReader(graph, split, part, items_per_request) {
    query_.node_type = type;
  }
  SplitReader(const DistGraph& graph, EdgeTypeId type, const std::string& split, graph::SplitPartName part,
              uint64_t items_per_request)
      : SplitReader(graph, split, part, items_per_request) {
    query_.edge_types = {type};
  }

  // Makes later calls of Read fill in SplitItem::edge. These calls fail if a pair of nodes in the split has no edge in
  // the graph, or if it has several and the split has no edge numbers (sampler::SeedQuery::want_edge_ids).
  void RequestEdgeIds() { query_.want_edge_ids = true; }

  // Sets one deadline for all later queries. By default each query has the call_timeout of the graph's context.
  void set_deadline(std::optional<Deadline> deadline) { deadline_ = std::move(deadline); }

  // Returns the number of items. InvalidArgument: there is no such type. NotFound: there is no such split.
  Result<uint64_t> Count() const {
    RETURN_IF_ERROR(sampler::CheckSeedTypes(query_, graph_.schema()));
    sampler::PartitionedGraph& partitions = graph_.partitions();
    if (query_.edge_types.empty()) return partitions.Count(query_.node_type, query_.split, query_.part);
    return partitions.CountOfEdges(query_.edge_types.front(), query_.split, query_.part);
  }

  // Calls take(item) for each item at the positions [range.first, range.last) of the split, in order. InvalidArgument:
  // a position is 2^32 * items_per_request or above. Internal: the split ends before range.last. Other errors are those
  // of the queries.
  template <class Take>
  Status Read(const sampler::PositionRange& range, Take take) {
    for (uint64_t position = range.first; position < range.last;) {
      const uint64_t step = position / query_.batch_size;
      const uint64_t step_first = step * query_.batch_size;
      RETURN_IF_ERROR(CheckStep(step, query_.batch_size));
      query_.step = static_cast<uint32_t>(step);
      ASSIGN_OR_RETURN(const sampler::GlobalBatch batch, graph_.partitions().SeedsOfStep(query_, QueryDeadline()));
      const uint64_t end = std::min(range.last, step_first + batch.seeds.size());
      if (end <= position) return Internal("split '" + query_.split + "' ended before the last requested position");
      for (; position < end; ++position) {
        const uint64_t index = position - step_first;
        SplitItem item{.node = batch.seeds[index], .position = position};
        if (!query_.edge_types.empty()) item.source = batch.sources[index];
        if (query_.want_edge_ids) item.edge = batch.edge_ids[index];
        take(item);
      }
    }
    return Status();
  }

  // Returns rows of an edge column at these positions of a split of edges: [positions.size(), row shape...].
  // `positions` must be ascending. A query reads at most items_per_request rows, and fewer if these do not fit into
  // `bytes_per_request` bytes. Without positions one query is still sent, which checks that the graph has the column.
  Result<Tensor> ReadRows(const std::string& column, std::span<const uint64_t> positions,
                          uint64_t bytes_per_request = kRowBytesPerRequest) const {
    sampler::SeedQuery query = query_;
    query.edge_column = column;
    query.want_edge_ids = false;
    query.step = 0;
    query.batch_size = 1;  // the first query returns one row, whose dtype and shape determine the rows per query
    ASSIGN_OR_RETURN(const sampler::GlobalBatch first, graph_.partitions().SeedsOfStep(query, QueryDeadline()));
    RowPieces rows(positions.size());
    RETURN_IF_ERROR(rows.Add(SelectRows<uint64_t>(first.rows, {})));
    query.batch_size = RowsPerRequest(first.rows, query_.batch_size, bytes_per_request);
    for (size_t next = 0; next < positions.size();) {
      const uint64_t step = positions[next] / query.batch_size;
      RETURN_IF_ERROR(CheckStep(step, query.batch_size));
      query.step = static_cast<uint32_t>(step);
      ASSIGN_OR_RETURN(const sampler::GlobalBatch batch, graph_.partitions().SeedsOfStep(query, QueryDeadline()));
      std::vector<uint64_t> indices;
      for (; next < positions.size() && positions[next] / query.batch_size == step; ++next) {
        indices.push_back(positions[next] - step * query.batch_size);
        if (indices.back() >= batch.seeds.size())
          return Internal("split '" + query.split + "' ended before the last requested position");
      }
      RETURN_IF_ERROR(rows.Add(SelectRows<uint64_t>(batch.rows, indices)));
    }
    return rows.Take();
  }

 private:
  // Returns InvalidArgument if `step` does not fit uint32_t, the type of SeedQuery::step.
  Status CheckStep(uint64_t step, uint64_t items_per_request) const {
    if (step <= std::numeric_limits<uint32_t>::max()) return Status();
    return InvalidArgument("split '" + query_.split + "' needs more than 2^32 queries of " +
                           std::to_string(items_per_request) + " items: use larger queries");
  }

  SplitReader(const DistGraph& graph, const std::string& split, graph::SplitPartName part, uint64_t items_per_request)
      : graph_(graph) {
    query_.split = split;
    query_.part = part;
    query_.shuffle = false;
    query_.batch_size = items_per_request;
  }

  Deadline QueryDeadline() const { return deadline_.value_or(graph_.CallDeadline()); }

  const DistGraph& graph_;
  sampler::SeedQuery query_;
  std::optional<Deadline> deadline_;
};

}  // namespace espalier::client
