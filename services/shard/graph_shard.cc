// Requests may come from the network, so types, ids, counts and limits are checked before they are used. The functions
// of State return their results; the public functions pass these results to `done` on the calling thread. Structure,
// columns and splits are immutable; WeightSums caches sums of weights, and TimeColumns caches results of checks.
#include "services/shard/graph_shard.h"

#include <algorithm>
#include <limits>

#include "services/base/buffer_pool.h"
#include "services/base/hash.h"
#include "services/base/select_rows.h"
#include "services/sampler/access/draw_rule.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/shard/check_partition.h"
#include "services/shard/edge_rows.h"
#include "services/shard/embeddings.h"
#include "services/shard/hop_kernel.h"
#include "services/shard/id_array.h"
#include "services/shard/mutable_tensors.h"
#include "services/shard/own_seeds.h"
#include "services/shard/row_gather.h"
#include "services/shard/time_columns.h"
#include "services/shard/weight_sums.h"

namespace espalier::shard {
namespace {

// Limit of the idle buffers that are kept for hop responses. A calling thread uses the buffers of one hop at a time.
constexpr size_t kIdleBufferBytes = size_t{256} << 20;

bool FitsU32(uint64_t count) { return count <= std::numeric_limits<uint32_t>::max(); }

// Checks that the excluded edges are sorted, because draws find them by binary search.
Status CheckExclusions(const sampler::PartitionRelationQuery& relation) {
  const auto& destinations = relation.excluded_destinations;
  const auto& sources = relation.excluded_sources;
  if (destinations.size() != sources.size()) {
    return InvalidArgument("the excluded edges have " + std::to_string(destinations.size()) + " destinations, but " +
                           std::to_string(sources.size()) + " sources");
  }
  for (size_t i = 1; i < sources.size(); ++i) {
    if (std::pair(destinations[i - 1], sources[i - 1]) <= std::pair(destinations[i], sources[i])) continue;
    return InvalidArgument("excluded edge " + std::to_string(i) + " is out of order");
  }
  return {};
}

// Returns a tensor of ids below `bound`: U32 if `bound` fits, otherwise U64.
Tensor MakeIdTensor(std::vector<uint64_t> ids, uint64_t bound) {
  if (!FitsU32(bound)) return Tensor::FromVector(std::move(ids));
  std::vector<uint32_t> narrow(ids.begin(), ids.end());
  return Tensor::FromVector(std::move(narrow));
}

}  // namespace

struct GraphShard::State {
  State(graph::PartitionBook b, graph::Partition p, ShardLimits l, std::shared_ptr<const sampler::RowInitializers> i)
      : book(std::move(b)),
        partition(std::move(p)),
        limits(l),
        weight_sums(partition),
        time_columns(partition),
        tensors(book, partition, {limits.mutable_tensor_bytes, limits.max_rows_per_request}, std::move(i)),
        embeddings(tensors, {limits.waiting_gradient_bytes, limits.max_rows_per_request}),
        hop_buffers(kIdleBufferBytes) {
    for (const graph::CanonicalEdgeType& type : book.schema().edge_types()) {
      relation_hashes.push_back(Hash64(type.Name()));
      source_type_hashes.push_back(Hash64(type.source));
    }
  }

  // Fixed after construction.
  const graph::PartitionBook book;
  const graph::Partition partition;
  const ShardLimits limits;
  std::vector<uint64_t> relation_hashes;     // by EdgeTypeId
  std::vector<uint64_t> source_type_hashes;  // by EdgeTypeId: of the source's node type
  // Thread-safe.
  WeightSums weight_sums;
  TimeColumns time_columns;
  MutableTensors tensors;
  Embeddings embeddings;  // uses the tensors
  BufferPool hop_buffers;

  Status CheckNodeType(NodeTypeId type) const { return book.schema().CheckNodeType(type); }
  Status CheckEdgeType(EdgeTypeId type) const { return book.schema().CheckEdgeType(type); }
  Status CheckCount(size_t count) const {
    if (count <= limits.max_rows_per_request) return {};
    return ResourceExhausted("a request for " + std::to_string(count) + " rows, the limit is " +
                             std::to_string(limits.max_rows_per_request));
  }

  // Returns the random key of one relation's draws.
  uint64_t ToKey(const sampler::PartitionHopQuery& query, const sampler::PartitionRelationQuery& relation) const {
    const size_t type = relation.edge_type.value;
    if (query.draw.method == sampler::DrawMethod::kLabor) {
      return sampler::LaborKey(query.seed, query.at, query.draw.layer_dependency, source_type_hashes[type]);
    }
    if (!relation.walks.empty()) return sampler::WalkKey(query.seed, query.at, relation_hashes[type]);
    return sampler::NeighborKey(query.seed, query.at, relation_hashes[type]);
  }
  Result<const Tensor*> FindSourceIds(EdgeTypeId type) const;
  Result<sampler::PartitionHopSample> SampleInEdges(const sampler::PartitionHopQuery& query);
  Result<sampler::PartitionRelationSample> SampleOne(const sampler::PartitionHopQuery& query,
                                                     const sampler::PartitionRelationQuery& relation,
                                                     HopBudget& budget);
  Status GatherRows(NodeTypeId type, const std::string& column, std::span<const LocalNodeId> nodes,
                    const sampler::RowSink& sink);
  Result<const graph::SplitPart*> FindSplitPart(const sampler::SeedQuery& query) const;
  Result<const graph::EdgeSplitPart*> FindEdgeSplitPart(const sampler::SeedQuery& query, EdgeTypeId type) const;
  Result<sampler::PartitionSeeds> SeedsOfStep(const sampler::SeedQuery& query);
  Result<const Tensor*> FindEdgeColumn(EdgeTypeId type, const std::string& name, size_t num_rows) const;
  Result<Tensor> FindRowsOfSeeds(const sampler::SeedQuery& query, const RequestedEdges& edges) const;
  Result<Tensor> FindIdsOfSeeds(const sampler::SeedQuery& query, const RequestedEdges& edges) const;
  Result<Tensor> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes) const;
  Result<Tensor> InDegrees(EdgeTypeId type, std::span<const LocalNodeId> nodes) const;
  Result<std::vector<uint64_t>> FindPositions(EdgeTypeId type, std::span<const GlobalEdgeId> edges) const;
  Result<Tensor> FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges) const;
  Result<Tensor> GatherEdgeRows(EdgeTypeId type, const std::string& column, std::span<const GlobalEdgeId> edges) const;
};

Result<const Tensor*> GraphShard::State::FindSourceIds(EdgeTypeId type) const {
  const std::string name = graph::SourceColumnName(sampler::kOriginalIdColumn);
  if (type.value < partition.edge_columns.size()) {
    const auto column = partition.edge_columns[type.value].find(name);
    if (column != partition.edge_columns[type.value].end()) {
      const Tensor& ids = column->second;
      const bool are_ids = ids.dtype() == DType::kU32 || ids.dtype() == DType::kU64;
      if (are_ids && ids.num_elements() == ids.num_rows()) return &ids;
      return DataLoss("edge column '" + name + "' is " + ids.ToString() + ", expected U32 or U64 [edges]");
    }
  }
  return NotFound("LABOR needs the edge column '" + name +
                  "': partition the graph with the source column 'original_id'");
}

Result<sampler::PartitionRelationSample> GraphShard::State::SampleOne(const sampler::PartitionHopQuery& query,
                                                                      const sampler::PartitionRelationQuery& relation,
                                                                      HopBudget& budget) {
  const EdgeTypeId type = relation.edge_type;
  RETURN_IF_ERROR(CheckEdgeType(type));
  RETURN_IF_ERROR(CheckCount(relation.destinations.size()));
  if (relation.fanout < 1 && relation.fanout != sampler::kFullNeighborhood) {
    return InvalidArgument("fan-out " + std::to_string(relation.fanout) + ", expected at least 1, or -1 for all");
  }
  RETURN_IF_ERROR(CheckCount(relation.excluded_destinations.size()));
  RETURN_IF_ERROR(CheckExclusions(relation));
  WeightSums::Sums sums;
  if (!query.draw.weight_column.empty()) {
    ASSIGN_OR_RETURN(sums, weight_sums.Get(type, query.draw.weight_column));
  }
  const Tensor* edge_times = nullptr;
  if (!query.draw.time_column.empty()) {
    ASSIGN_OR_RETURN(edge_times, time_columns.Get(type, query.draw.time_column));
  }
  const Tensor* source_ids = nullptr;
  if (query.draw.method == sampler::DrawMethod::kLabor) {
    ASSIGN_OR_RETURN(source_ids, FindSourceIds(type));
  }
  const HopOptions options{.key = ToKey(query, relation),
                           .fanout = relation.fanout,
                           .replace = query.draw.replace,
                           .method = query.draw.method,
                           .weight_sums = sums.get(),
                           .want_edge_ids = query.want_edge_ids,
                           .first_edge = book.EdgeFirst(type)[partition.id.value],
                           .wide_edge_ids = !FitsU32(book.num_edges(type)),
                           .source_ids = source_ids,
                           .edge_times = edge_times,
                           .destination_times = relation.times,
                           .walks = relation.walks,
                           .excluded_destinations = relation.excluded_destinations,
                           .excluded_sources = relation.excluded_sources};
  const Tensor& original_ids = partition.nodes[book.schema().DestinationOf(type).value].original_ids;
  return SampleRelation(partition.in_edges[type.value], original_ids, relation.destinations, options, budget,
                        hop_buffers);
}

Result<sampler::PartitionHopSample> GraphShard::State::SampleInEdges(const sampler::PartitionHopQuery& query) {
  sampler::PartitionHopSample sample;
  RETURN_IF_ERROR(sampler::CheckDrawRule(query));
  HopBudget budget{.draws = limits.max_draws_per_request, .lookups = limits.max_lookups_per_request};
  for (const sampler::PartitionRelationQuery& relation : query.relations) {
    Result<sampler::PartitionRelationSample> drawn = SampleOne(query, relation, budget);
    if (!drawn.ok())
      return std::move(drawn).status().While("sampling edge type " + std::to_string(relation.edge_type.value));
    sample.relations.push_back(*std::move(drawn));
  }
  return sample;
}

Status GraphShard::State::GatherRows(NodeTypeId type, const std::string& column, std::span<const LocalNodeId> nodes,
                                     const sampler::RowSink& sink) {
  RETURN_IF_ERROR(CheckNodeType(type));
  RETURN_IF_ERROR(CheckCount(nodes.size()));
  const graph::OwnedNodes& owned = partition.nodes[type.value];
  if (column == sampler::kOriginalIdColumn) {
    const Tensor& ids = owned.original_ids;
    if (ids.dtype() == DType::kU32) return GatherWidened(ids.values<uint32_t>(), nodes, sink);
    return GatherInto(ids.bytes(), owned.count, sizeof(uint64_t), nodes, sink);
  }
  const auto found = owned.columns.find(column);
  if (found != owned.columns.end()) {
    return GatherInto(found->second.bytes(), owned.count, found->second.row_bytes(), nodes, sink);
  }
  std::string existing = std::string("'") + sampler::kOriginalIdColumn + "'";
  for (const auto& [name, tensor] : owned.columns) existing += ", '" + name + "'";
  return NotFound("node type '" + book.schema().NodeTypeName(type) + "' has no column '" + column + "'; it has " +
                  existing);
}

Result<const graph::SplitPart*> GraphShard::State::FindSplitPart(const sampler::SeedQuery& query) const {
  RETURN_IF_ERROR(CheckNodeType(query.node_type));
  const auto part = static_cast<size_t>(query.part);
  const auto split = partition.splits.find(query.split);
  if (split != partition.splits.end() && part < 3) {
    const auto parts = split->second.find(query.node_type.value);
    if (parts != split->second.end()) return &parts->second[part];
  }
  std::string existing;
  for (const auto& [name, by_type] : partition.splits) existing += (existing.empty() ? "'" : ", '") + name + "'";
  return NotFound("there is no split '" + query.split + "' of node type '" +
                  book.schema().NodeTypeName(query.node_type) + "'; the graph's splits are " +
                  (existing.empty() ? "none" : existing));
}

Result<const graph::EdgeSplitPart*> GraphShard::State::FindEdgeSplitPart(const sampler::SeedQuery& query,
                                                                         EdgeTypeId type) const {
  const auto part = static_cast<size_t>(query.part);
  const auto split = partition.edge_splits.find(query.split);
  if (split != partition.edge_splits.end() && part < 3) {
    const auto parts = split->second.find(type.value);
    if (parts != split->second.end()) return &parts->second[part];
  }
  std::string existing;
  for (const auto& [name, by_type] : partition.edge_splits) existing += (existing.empty() ? "'" : ", '") + name + "'";
  return NotFound("there is no split '" + query.split + "' of edge type '" + book.schema().EdgeType(type).Name() +
                  "'; the graph's splits of edges are " + (existing.empty() ? "none" : existing));
}

// Returns the column. ResourceExhausted if `num_rows` rows of it take more bytes than max_edge_row_bytes.
Result<const Tensor*> GraphShard::State::FindEdgeColumn(EdgeTypeId type, const std::string& name,
                                                        size_t num_rows) const {
  std::string existing;
  if (type.value < partition.edge_columns.size()) {
    for (const auto& [other, column] : partition.edge_columns[type.value]) {
      existing += (existing.empty() ? "'" : ", '") + other + "'";
      if (other != name) continue;
      if (column.row_bytes() == 0 || num_rows <= limits.max_edge_row_bytes / column.row_bytes()) return &column;
      const std::string most = std::to_string(limits.max_edge_row_bytes) + " bytes";
      if (num_rows == 1) {
        return ResourceExhausted("one row of edge column '" + name + "' has " + std::to_string(column.row_bytes()) +
                                 " bytes, a response contains at most " + most);
      }
      return ResourceExhausted(std::to_string(num_rows) + " rows of edge column '" + name + "' of " +
                               std::to_string(column.row_bytes()) + " bytes each take more than " + most +
                               ": use smaller batches");
    }
  }
  return NotFound("edge type '" + book.schema().EdgeType(type).Name() + "' has no column '" + name + "'; it has " +
                  (existing.empty() ? "none" : existing));
}

Result<Tensor> GraphShard::State::FindRowsOfSeeds(const sampler::SeedQuery& query, const RequestedEdges& edges) const {
  const EdgeTypeId type = query.edge_types.front();
  ASSIGN_OR_RETURN(const Tensor* const column, FindEdgeColumn(type, query.edge_column, edges.sources.size()));
  const Tensor& original_ids = partition.nodes[book.schema().DestinationOf(type).value].original_ids;
  Result<Tensor> rows =
      FindEdgeRows(partition.in_edges[type.value], original_ids, *column, edges, limits.max_lookups_per_request);
  if (rows.ok()) return rows;
  return std::move(rows).status().While("column '" + query.edge_column + "' of the edges of split '" + query.split +
                                        "'");
}

Result<Tensor> GraphShard::State::FindIdsOfSeeds(const sampler::SeedQuery& query, const RequestedEdges& edges) const {
  const EdgeTypeId type = query.edge_types.front();
  const Tensor& original_ids = partition.nodes[book.schema().DestinationOf(type).value].original_ids;
  Result<std::vector<uint64_t>> ids =
      FindEdgePositions(partition.in_edges[type.value], original_ids, edges, limits.max_lookups_per_request);
  if (!ids.ok()) return std::move(ids).status().While("ids of the edges of split '" + query.split + "'");
  for (uint64_t& id : *ids) id += book.EdgeFirst(type)[partition.id.value];
  return MakeIdTensor(*std::move(ids), book.num_edges(type));
}

Result<sampler::PartitionSeeds> GraphShard::State::SeedsOfStep(const sampler::SeedQuery& query) {
  if (query.batch_size == 0) return InvalidArgument("the batch size must be at least 1");
  const graph::GraphSchema& schema = book.schema();
  RETURN_IF_ERROR(sampler::CheckSeedTypes(query, schema));
  const bool of_edges = !query.edge_types.empty();
  uint64_t total = 0;
  std::vector<OrdinalList> lists;
  std::vector<IdArray> local_ids, list_sources, list_positions;  // by list; the last two only for edges
  for (const EdgeTypeId type : query.edge_types) {
    ASSIGN_OR_RETURN(const graph::EdgeSplitPart* const part, FindEdgeSplitPart(query, type));
    lists.push_back({total, &part->ordinals});
    local_ids.emplace_back(part->destinations);
    list_sources.emplace_back(part->sources);
    list_positions.emplace_back(part->positions);
    total += part->total;
  }
  if (!of_edges) {
    ASSIGN_OR_RETURN(const graph::SplitPart* const part, FindSplitPart(query));
    lists.push_back({0, &part->ordinals});
    local_ids.emplace_back(part->local_ids);
    total = part->total;
  }
  const sampler::PositionRange range = sampler::PositionsOfStep(total, query.batch_size, query.step);
  RETURN_IF_ERROR(sampler::CheckSeedPositions(query, range.size()));
  if (!FitsU32(range.size()))
    return ResourceExhausted("the batch has " + std::to_string(range.size()) + " seeds, expected fewer than 2^32");
  const std::vector<OwnSeed> own = FindOwnSeeds(query, total, lists, range);
  RETURN_IF_ERROR(CheckCount(own.size()));

  // By list: the partition's first global id of the seed nodes' type or, for seed edges, of their destinations' type.
  std::vector<uint64_t> first_nodes;
  uint64_t num_nodes = 0, num_sources = 0;  // maximum over the types
  for (size_t list = 0; list < lists.size(); ++list) {
    const NodeTypeId type = of_edges ? schema.DestinationOf(query.edge_types[list]) : query.node_type;
    first_nodes.push_back(book.NodeFirst(type)[partition.id.value]);
    num_nodes = std::max(num_nodes, book.num_nodes(type));
    if (of_edges) num_sources = std::max(num_sources, book.num_nodes(schema.SourceOf(query.edge_types[list])));
  }
  std::vector<uint32_t> positions;
  std::vector<uint64_t> nodes, sources, local_destinations;  // the last two only for edges
  // Empty unless rows or ids of edges are requested, which requires a single edge type. Empty also if the split has no
  // positions: the edges are then found by their endpoints.
  std::vector<uint64_t> edge_positions;
  const bool needs_edges = !query.edge_column.empty() || query.want_edge_ids;
  for (const OwnSeed& seed : own) {
    positions.push_back(static_cast<uint32_t>(seed.position - range.first));
    nodes.push_back(first_nodes[seed.list] + local_ids[seed.list][seed.entry]);
    if (!of_edges) continue;
    sources.push_back(list_sources[seed.list][seed.entry]);
    local_destinations.push_back(local_ids[seed.list][seed.entry]);
    const IdArray& of_list = list_positions[seed.list];
    if (needs_edges && of_list.size() > 0) edge_positions.push_back(of_list[seed.entry]);
  }
  sampler::PartitionSeeds seeds{.positions = Tensor::FromVector(std::move(positions)),
                                .nodes = MakeIdTensor(std::move(nodes), num_nodes)};
  if (!query.edge_column.empty()) {
    ASSIGN_OR_RETURN(seeds.rows, FindRowsOfSeeds(query, {sources, local_destinations, edge_positions}));
  }
  if (query.want_edge_ids) {
    ASSIGN_OR_RETURN(seeds.edge_ids, FindIdsOfSeeds(query, {sources, local_destinations, edge_positions}));
  }
  if (of_edges) seeds.sources = MakeIdTensor(std::move(sources), num_sources);
  return seeds;
}

Result<Tensor> GraphShard::State::ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes) const {
  RETURN_IF_ERROR(CheckNodeType(type));
  RETURN_IF_ERROR(CheckCount(nodes.size()));
  const graph::DirectorySlice& slice = partition.directory[type.value];
  const IdArray global_ids(slice.global_ids);
  std::vector<uint64_t> found;
  found.reserve(nodes.size());
  for (const OriginalNodeId node : nodes) {
    if (node.value < slice.first || node.value - slice.first >= global_ids.size()) {
      return OutOfRange("original id " + std::to_string(node.value) + " is not in this partition's directory slice [" +
                        std::to_string(slice.first) + ", " + std::to_string(slice.first + global_ids.size()) + ")");
    }
    found.push_back(global_ids[node.value - slice.first]);
  }
  return MakeIdTensor(std::move(found), book.num_nodes(type));
}

Result<Tensor> GraphShard::State::InDegrees(EdgeTypeId type, std::span<const LocalNodeId> nodes) const {
  RETURN_IF_ERROR(CheckEdgeType(type));
  RETURN_IF_ERROR(CheckCount(nodes.size()));
  const IdArray indptr(partition.in_edges[type.value].indptr);
  std::vector<uint32_t> degrees;
  degrees.reserve(nodes.size());
  for (const LocalNodeId node : nodes) {
    const uint64_t v = node.value;
    if (v + 1 >= indptr.size()) {
      return InvalidArgument("node " + std::to_string(v) + " is not one of the " + std::to_string(indptr.size() - 1) +
                             " that the partition owns");
    }
    degrees.push_back(static_cast<uint32_t>(indptr[v + 1] - indptr[v]));
  }
  return Tensor::FromVector(std::move(degrees));
}

// Returns the edges' positions in the type's InEdges::indices.
Result<std::vector<uint64_t>> GraphShard::State::FindPositions(EdgeTypeId type,
                                                               std::span<const GlobalEdgeId> edges) const {
  RETURN_IF_ERROR(CheckEdgeType(type));
  RETURN_IF_ERROR(CheckCount(edges.size()));
  const uint64_t num_edges = IdArray(partition.in_edges[type.value].indices).size();
  const uint64_t first_edge = book.EdgeFirst(type)[partition.id.value];
  std::vector<uint64_t> positions;
  positions.reserve(edges.size());
  for (const GlobalEdgeId edge : edges) {
    if (edge.value < first_edge || edge.value - first_edge >= num_edges) {
      return InvalidArgument("edge " + std::to_string(edge.value) + " is not one of [" + std::to_string(first_edge) +
                             ", " + std::to_string(first_edge + num_edges) + ") that the partition owns");
    }
    positions.push_back(edge.value - first_edge);
  }
  return positions;
}

Result<Tensor> GraphShard::State::FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges) const {
  ASSIGN_OR_RETURN(const std::vector<uint64_t> positions, FindPositions(type, edges));
  const IdArray indptr(partition.in_edges[type.value].indptr), indices(partition.in_edges[type.value].indices);
  const uint64_t first_node = book.NodeFirst(book.schema().DestinationOf(type))[partition.id.value];
  std::vector<int64_t> ends(2 * edges.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    const uint64_t position = positions[i];
    // `row` becomes the destination: the last node v with indptr[v] <= position. (That node has in-edges: for a node u
    // without in-edges, indptr[u + 1] equals indptr[u], so u is not the last one.)
    uint64_t row = 0;
    for (uint64_t length = indptr.size() - 1; length > 1;) {
      const uint64_t half = length / 2;
      if (indptr[row + half] <= position) row += half;
      length -= half;
    }
    ends[i] = static_cast<int64_t>(indices[position]);
    ends[edges.size() + i] = static_cast<int64_t>(first_node + row);
  }
  return Tensor::FromVector(std::move(ends), {2, static_cast<int64_t>(edges.size())});
}

Result<Tensor> GraphShard::State::GatherEdgeRows(EdgeTypeId type, const std::string& column,
                                                 std::span<const GlobalEdgeId> edges) const {
  ASSIGN_OR_RETURN(const std::vector<uint64_t> positions, FindPositions(type, edges));
  ASSIGN_OR_RETURN(const Tensor* const found, FindEdgeColumn(type, column, edges.size()));
  return SelectRows<uint64_t>(*found, positions);
}

GraphShard::GraphShard(std::unique_ptr<State> state) : state_(std::move(state)) {}
GraphShard::~GraphShard() = default;

Result<std::shared_ptr<GraphShard>> GraphShard::Make(graph::PartitionBook book, graph::Partition partition,
                                                     ShardLimits limits,
                                                     std::shared_ptr<const sampler::RowInitializers> initializers) {
  RETURN_IF_ERROR(CheckPartition(book, partition));
  auto state = std::make_unique<State>(std::move(book), std::move(partition), limits, std::move(initializers));
  return std::shared_ptr<GraphShard>(new GraphShard(std::move(state)));
}

const graph::PartitionBook& GraphShard::book() const { return state_->book; }
const graph::Partition& GraphShard::data() const { return state_->partition; }
PartitionId GraphShard::partition() const { return state_->partition.id; }

void GraphShard::SampleInEdges(sampler::PartitionHopQuery query, Deadline,
                               sampler::Done<sampler::PartitionHopSample> done) {
  done(state_->SampleInEdges(query));
}

void GraphShard::GatherRows(NodeTypeId type, const std::string& column, std::span<const LocalNodeId> nodes,
                            sampler::RowSink sink, Deadline, sampler::DoneStatus done) {
  done(state_->GatherRows(type, column, nodes, sink));
}

void GraphShard::SeedsOfStep(const sampler::SeedQuery& query, Deadline, sampler::Done<sampler::PartitionSeeds> done) {
  done(state_->SeedsOfStep(query));
}

void GraphShard::ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes, Deadline,
                             sampler::Done<Tensor> done) {
  done(state_->ToGlobalIds(type, nodes));
}

void GraphShard::InDegrees(EdgeTypeId type, std::span<const LocalNodeId> nodes, Deadline, sampler::Done<Tensor> done) {
  done(state_->InDegrees(type, nodes));
}

void GraphShard::FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges, Deadline, sampler::Done<Tensor> done) {
  done(state_->FindEdges(type, edges));
}

void GraphShard::GatherEdgeRows(EdgeTypeId type, const std::string& column, std::span<const GlobalEdgeId> edges,
                                Deadline, sampler::Done<Tensor> done) {
  done(state_->GatherEdgeRows(type, column, edges));
}

sampler::PartitionTensors& GraphShard::tensors() { return state_->tensors; }
sampler::PartitionEmbeddings& GraphShard::embeddings() { return state_->embeddings; }

}  // namespace espalier::shard
