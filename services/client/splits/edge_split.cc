// Each kind of input has a reader (SplitReader, IdReader, MaskReader) that reads items by position; TakeShare selects
// the items of this rank from the reader. For ids and masks, endpoints and rows of columns are read by edge id. A named
// split stores pairs of nodes, so rows of columns are read by position in the split.
#include "services/client/splits/edge_split.h"

#include <algorithm>
#include <utility>

#include "services/client/graph/split_reader.h"
#include "services/client/remote/row_pieces.h"
#include "services/client/splits/list_readers.h"

namespace espalier::client {
namespace {

Status CheckEdgeSplit(const DistGraph& graph, EdgeTypeId type, const EdgeSplitOptions& options) {
  if (options.edges_per_request == 0) return InvalidArgument("edges_per_request is 0, expected at least 1");
  return graph.schema().CheckEdgeType(type);
}

// Reads rows of edges by id, in several queries.
Result<Tensor> GatherRowsById(const DistGraph& graph, EdgeTypeId type, const std::string& column,
                              const std::vector<GlobalEdgeId>& ids, uint64_t edges_per_request) {
  RowPieces rows(ids.size());
  // A query for no edges returns the dtype and shape of a row, which determine the number of rows per query.
  ASSIGN_OR_RETURN(const Tensor no_rows, graph.GatherEdgeRows(type, column, {}));
  RETURN_IF_ERROR(rows.Add(no_rows));
  const uint64_t rows_per_query = RowsPerRequest(no_rows, edges_per_request);
  for (uint64_t first = 0; first < ids.size(); first += rows_per_query) {
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = static_cast<std::ptrdiff_t>(std::min<uint64_t>(rows_per_query, ids.size() - first));
    ASSIGN_OR_RETURN(const Tensor piece, graph.GatherEdgeRows(type, column, std::vector(begin, begin + count)));
    RETURN_IF_ERROR(rows.Add(piece));
  }
  return rows.Take();
}

// Returns this rank's share of the `total` ids of the reader.
template <class Reader>
Result<EdgeShare> TakeShareOfIds(const DistGraph& graph, EdgeTypeId type, uint64_t total, const Reader& reader,
                                 const EdgeSplitOptions& options) {
  std::vector<GlobalEdgeId> ids;
  if (options.by == SplitBy::kEven) ids.reserve(ComputeEvenRange(total, graph.world_size(), graph.rank().value).size());
  EdgeShare share;
  const auto owner = [&](GlobalEdgeId id) { return graph.book().OwnerOf(type, id); };
  const auto keep = [&](GlobalEdgeId id) { ids.push_back(id); };
  ASSIGN_OR_RETURN(share.largest, TakeShare(graph, options.by, total, reader, owner, keep));
  ASSIGN_OR_RETURN(share.edges, MakeEdgeList(graph, type, std::move(ids), options.edges_per_request));
  for (const std::string& column : options.columns) {
    ASSIGN_OR_RETURN(share.edges.rows[column],
                     GatherRowsById(graph, type, column, share.edges.ids, options.edges_per_request));
  }
  return share;
}

}  // namespace

Result<EdgeShare> EdgeSplit(const DistGraph& graph, EdgeTypeId type, const std::string& split,
                            graph::SplitPartName part, const EdgeSplitOptions& options) {
  RETURN_IF_ERROR(CheckEdgeSplit(graph, type, options));
  SplitReader reader(graph, type, split, part, options.edges_per_request);
  if (options.want_ids) reader.RequestEdgeIds();
  ASSIGN_OR_RETURN(const uint64_t total, reader.Count());
  EdgeShare share{.edges = {.type = type}};
  if (options.by == SplitBy::kEven) {
    const uint64_t size = ComputeEvenRange(total, graph.world_size(), graph.rank().value).size();
    share.edges.sources.reserve(size);
    share.edges.destinations.reserve(size);
  }
  const NodeTypeId destination = graph.schema().DestinationOf(type);
  std::vector<uint64_t> positions;  // of the share's edges in the split; filled only if columns are requested
  const auto keep = [&](const SplitItem& item) {
    share.edges.sources.push_back(item.source);
    share.edges.destinations.push_back(item.node);
    if (!options.columns.empty()) positions.push_back(item.position);
    if (options.want_ids) share.edges.ids.push_back(item.edge);
  };
  const auto owner = [&](const SplitItem& item) { return graph.book().OwnerOf(destination, item.node); };
  ASSIGN_OR_RETURN(share.largest, TakeShare(graph, options.by, total, reader, owner, keep));
  for (const std::string& column : options.columns) {
    ASSIGN_OR_RETURN(share.edges.rows[column], reader.ReadRows(column, positions));
  }
  return share;
}

Result<EdgeShare> EdgeSplit(const DistGraph& graph, EdgeTypeId type, std::span<const GlobalEdgeId> ids,
                            const EdgeSplitOptions& options) {
  RETURN_IF_ERROR(CheckEdgeSplit(graph, type, options));
  for (const GlobalEdgeId id : ids) {
    if (id.value < graph.num_edges(type)) continue;
    return InvalidArgument("edge " + std::to_string(id.value) + " of type '" + graph.schema().EdgeType(type).Name() +
                           "' does not exist; there are " + std::to_string(graph.num_edges(type)));
  }
  return TakeShareOfIds(graph, type, ids.size(), IdReader<GlobalEdgeId>(ids), options);
}

Result<EdgeShare> EdgeSplit(const DistGraph& graph, const DistTensor& mask, const EdgeSplitOptions& options) {
  RETURN_IF_ERROR(CheckMask(mask, sampler::RowsOf::kEdges));
  const EdgeTypeId type(mask.rows().type);
  RETURN_IF_ERROR(CheckEdgeSplit(graph, type, options));
  ASSIGN_OR_RETURN(const MaskReader<GlobalEdgeId> reader,
                   MaskReader<GlobalEdgeId>::Make(graph, mask, options.edges_per_request));
  return TakeShareOfIds(graph, type, reader.total(), reader, options);
}

}  // namespace espalier::client
