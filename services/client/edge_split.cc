#include "services/client/edge_split.h"

#include <algorithm>
#include <utility>

#include "services/client/remote/row_pieces.h"
#include "services/client/split_reader.h"

namespace espalier::client {
namespace {

Status CheckEdgeSplit(const DistGraph& graph, EdgeTypeId type, const EdgeSplitOptions& options) {
  if (options.edges_per_question == 0) return InvalidArgument("an edge split needs questions of at least 1 edge");
  if (type.value < graph.schema().num_edge_types()) return Status();
  return InvalidArgument("edge type " + std::to_string(type.value) + " does not exist; the graph has " +
                         std::to_string(graph.schema().num_edge_types()));
}

// Ids that are there.
class EdgeIdReader {
 public:
  explicit EdgeIdReader(std::span<const GlobalEdgeId> ids) : ids_(ids) {}

  template <class Take>
  Status Read(const sampler::PositionRange& range, Take take) const {
    for (const GlobalEdgeId id : ids_.subspan(range.first, range.size())) take(id);
    return Status();
  }

 private:
  const std::span<const GlobalEdgeId> ids_;
};

// The ids of edges whose value of a mask is not 0, a stretch of the mask at a time.
class EdgeMaskReader {
 public:
  EdgeMaskReader(const DistTensor& mask, uint64_t edges_per_question)
      : mask_(mask), edges_per_question_(edges_per_question) {}

  template <class Take>
  Status Read(const sampler::PositionRange& range, Take take) const {
    if (range.size() == 0) return Status();
    uint64_t position = 0;  // of the next edge that is not 0
    std::vector<GlobalRowId> rows;
    for (uint64_t first = 0; first < mask_.num_rows(); first += rows.size()) {
      rows.clear();
      const uint64_t last = first + std::min(edges_per_question_, mask_.num_rows() - first);
      for (uint64_t row = first; row < last; ++row) rows.emplace_back(row);
      ASSIGN_OR_RETURN(const Tensor values, mask_.ReadRows(rows));
      const std::span<const std::byte> bytes = values.byte_span();  // one for each row
      for (size_t i = 0; i < rows.size(); ++i) {
        if (bytes[i] == std::byte{0}) continue;
        if (position >= range.first) take(GlobalEdgeId(rows[i].value));
        if (++position == range.last) return Status();
      }
    }
    return FailedPrecondition("the mask '" + mask_.name() + "' has changed while it was split");
  }

 private:
  const DistTensor& mask_;
  const uint64_t edges_per_question_;
};

// Rows of edges by their ids, a stretch at a time.
Result<Tensor> RowsOfIds(const DistGraph& graph, EdgeTypeId type, const std::string& column,
                         const std::vector<GlobalEdgeId>& ids, uint64_t edges_per_question) {
  RowPieces rows(ids.size());
  // Only an owner knows what a row is, so it is asked for none first.
  ASSIGN_OR_RETURN(const Tensor none, graph.EdgeRows(type, column, {}));
  RETURN_IF_ERROR(rows.Add(none));
  const uint64_t at_once = RowsPerQuestion(none, edges_per_question);
  for (uint64_t first = 0; first < ids.size(); first += at_once) {
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = static_cast<std::ptrdiff_t>(std::min<uint64_t>(at_once, ids.size() - first));
    ASSIGN_OR_RETURN(const Tensor piece, graph.EdgeRows(type, column, std::vector(begin, begin + count)));
    RETURN_IF_ERROR(rows.Add(piece));
  }
  return rows.Take();
}

// The share of a list of `total` ids.
template <class Reader>
Result<EdgeShare> ShareOfIds(const DistGraph& graph, EdgeTypeId type, uint64_t total, const Reader& reader,
                             const EdgeSplitOptions& options) {
  std::vector<GlobalEdgeId> ids;
  if (options.by == SplitBy::kEven) ids.reserve(EvenStretch(total, graph.world_size(), graph.rank().value).size());
  EdgeShare share;
  const auto owner = [&](GlobalEdgeId id) { return graph.book().OwnerOf(type, id); };
  const auto keep = [&](GlobalEdgeId id) { ids.push_back(id); };
  ASSIGN_OR_RETURN(share.largest, TakeShare(graph, options.by, total, reader, owner, keep));
  ASSIGN_OR_RETURN(share.edges, EdgesOf(graph, type, std::move(ids), options.edges_per_question));
  for (const std::string& column : options.columns) {
    ASSIGN_OR_RETURN(share.edges.rows[column],
                     RowsOfIds(graph, type, column, share.edges.ids, options.edges_per_question));
  }
  return share;
}

}  // namespace

Result<EdgeShare> EdgeSplit(const DistGraph& graph, EdgeTypeId type, const std::string& split,
                            graph::SplitPartName part, const EdgeSplitOptions& options) {
  RETURN_IF_ERROR(CheckEdgeSplit(graph, type, options));
  SplitReader reader(graph, type, split, part, options.edges_per_question);
  if (options.want_ids) reader.WantEdgeIds();
  ASSIGN_OR_RETURN(const uint64_t total, reader.Count());
  EdgeShare share{.edges = {.type = type}};
  if (options.by == SplitBy::kEven) {
    const uint64_t size = EvenStretch(total, graph.world_size(), graph.rank().value).size();
    share.edges.sources.reserve(size);
    share.edges.destinations.reserve(size);
  }
  const NodeTypeId destination = graph.schema().DestinationOf(type);
  std::vector<uint64_t> positions;  // of the share, where its rows are asked for
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
  return ShareOfIds(graph, type, ids.size(), EdgeIdReader(ids), options);
}

Result<EdgeShare> EdgeSplit(const DistGraph& graph, const DistTensor& mask, const EdgeSplitOptions& options) {
  const bool of_edges = mask.rows().of == sampler::RowsOf::kEdges;
  if (!of_edges || mask.shape().size() != 1 || (mask.dtype() != DType::kBool && mask.dtype() != DType::kU8)) {
    return InvalidArgument("the mask '" + mask.name() + "' is a " + NameOf(mask.dtype()) + " tensor of " +
                           (of_edges ? "edges" : "no edges") + " with " + std::to_string(mask.shape().size()) +
                           " dimensions, expected BOOL or U8, one value for each edge of a type");
  }
  const EdgeTypeId type(mask.rows().type);
  RETURN_IF_ERROR(CheckEdgeSplit(graph, type, options));
  ASSIGN_OR_RETURN(const uint64_t total, mask.CountNonzero());
  return ShareOfIds(graph, type, total, EdgeMaskReader(mask, options.edges_per_question), options);
}

}  // namespace espalier::client
