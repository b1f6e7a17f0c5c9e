// Seeds, lookups of original ids, and in-degrees. SeedsOfStep asks every partition for its own seeds, because any of
// them may own seeds of the step; positions determine the order of the batch. ToGlobalIds asks the partitions whose
// ranges of original ids contain the ids, and InDegrees asks the owners of the nodes. All responses are checked against
// the request and the graph, because they may come from other processes.
#include "services/sampler/routing/partitioned_graph.h"

#include <algorithm>
#include <limits>

#include "services/base/check.h"
#include "services/sampler/access/owner_route.h"
#include "services/sampler/routing/partition_fan_out.h"
#include "services/sampler/routing/partitioned_graph_state.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/sampler/seeds/seed_rows.h"

namespace espalier::sampler {
namespace {

constexpr size_t kNodesPerLookUp = size_t{1} << 20;  // 8 MiB in a message
constexpr uint64_t kUnfilled = std::numeric_limits<uint64_t>::max();

Status CheckIds(const Tensor& ids, const std::string& what) {
  if (ids.dtype() == DType::kU32 || ids.dtype() == DType::kU64) return {};
  return Internal(what + " are " + ids.ToString() + ", expected U32 or U64");
}

// Returns, by partition, the indices of the ids that it owns.
std::vector<std::vector<uint32_t>> GroupPlacesByOwner(const OwnerRoute& route, size_t num_ids) {
  std::vector<std::vector<uint32_t>> places(route.locals.size());
  for (uint32_t i = 0; i < num_ids; ++i) places[route.owner.empty() ? 0 : route.owner[i]].push_back(i);
  return places;
}

// Returns the partitions p for which places[p] is not empty.
std::vector<PartitionId> FindPartitionsWithPlaces(const std::vector<std::vector<uint32_t>>& places) {
  std::vector<PartitionId> requested;
  for (uint32_t p = 0; p < places.size(); ++p) {
    if (!places[p].empty()) requested.push_back(PartitionId(p));
  }
  return requested;
}

// Returns the edge type of each requested position of a step, as an index into query.edge_types. first_of_type has the
// first ordinal of each type (FirstOrdinals).
std::vector<uint16_t> FindTypesOfPositions(const SeedQuery& query, PositionRange range,
                                           const std::vector<uint64_t>& first_of_type) {
  std::vector<uint16_t> types(query.positions.has_value() ? query.positions->size() : range.size(), 0);
  if (query.edge_types.size() == 1) return types;
  const SeedOrder order(query, first_of_type.back());
  for (uint64_t i = 0; i < types.size(); ++i) {
    const uint64_t position = range.first + (query.positions.has_value() ? (*query.positions)[i] : i);
    const auto after = std::upper_bound(first_of_type.begin(), first_of_type.end(), order.OrdinalAt(position));
    types[i] = static_cast<uint16_t>(after - first_of_type.begin() - 1);
  }
  return types;
}

// Returns the index at which SeedsOfStep returns the seed at `position` of the step: the index of `position` in
// query.positions, or `position` itself if query.positions is not set. kUnfilled if query.positions lacks `position`.
uint64_t FindPlace(const SeedQuery& query, uint64_t position) {
  if (!query.positions.has_value()) return position;
  const auto at = std::lower_bound(query.positions->begin(), query.positions->end(), position);
  if (at == query.positions->end() || *at != position) return kUnfilled;
  return static_cast<uint64_t>(at - query.positions->begin());
}

Status CheckCount(const Tensor& answer, size_t expected, PartitionId partition) {
  if (static_cast<size_t>(answer.num_elements()) == expected) return {};
  return Internal("partition " + std::to_string(partition.value) + " returned " + answer.ToString() +
                  ", expected a length of " + std::to_string(expected));
}

// Checks the lengths of the arrays of a partition's seeds, and the dtypes of those with ids.
Status CheckSeedArrays(const PartitionSeeds& seeds, const SeedQuery& query, PartitionId partition) {
  RETURN_IF_ERROR(CheckIds(seeds.nodes, "seeds"));
  const auto num_seeds = static_cast<size_t>(seeds.nodes.num_elements());
  RETURN_IF_ERROR(CheckCount(seeds.positions, num_seeds, partition));
  if (!query.edge_types.empty()) {
    RETURN_IF_ERROR(CheckIds(seeds.sources, "sources of seeds"));
    RETURN_IF_ERROR(CheckCount(seeds.sources, num_seeds, partition));
  }
  if (query.want_edge_ids) {
    RETURN_IF_ERROR(CheckIds(seeds.edge_ids, "edge ids of seeds"));
    RETURN_IF_ERROR(CheckCount(seeds.edge_ids, num_seeds, partition));
  }
  return {};
}

}  // namespace

PartitionedGraph::PartitionedGraph(GraphDescription description,
                                   std::vector<std::shared_ptr<PartitionAccess>> partitions)
    : state_(std::make_shared<State>(std::move(description), std::move(partitions))) {
  ESPALIER_CHECK(state_->partitions.size() == state_->description.book.num_partitions())
      << state_->partitions.size() << " partitions for a book of " << state_->description.book.num_partitions();
}

const graph::PartitionBook& PartitionedGraph::book() const { return state_->description.book; }
const std::vector<ColumnDescription>& PartitionedGraph::columns() const { return state_->description.columns; }
const GraphDescription& PartitionedGraph::description() const { return state_->description; }

Status PartitionedGraph::State::CheckNodeType(NodeTypeId type) const {
  return description.book.schema().CheckNodeType(type);
}

Status PartitionedGraph::State::CheckEdgeType(EdgeTypeId type) const {
  return description.book.schema().CheckEdgeType(type);
}

Status PartitionedGraph::State::CheckNodes(NodeTypeId type, std::span<const GlobalNodeId> nodes) const {
  RETURN_IF_ERROR(CheckNodeType(type));
  if (nodes.size() > std::numeric_limits<uint32_t>::max()) {
    return ResourceExhausted("a request has 2^32 nodes or more");
  }
  const uint64_t num_nodes = description.book.num_nodes(type);
  for (const GlobalNodeId node : nodes) {
    if (node.value >= num_nodes) {
      return InvalidArgument("node " + std::to_string(node.value) + " of type '" +
                             description.book.schema().NodeTypeName(type) + "' does not exist; there are " +
                             std::to_string(num_nodes));
    }
  }
  return {};
}

Result<uint64_t> PartitionedGraph::Count(NodeTypeId type, const std::string& split, graph::SplitPartName part) {
  RETURN_IF_ERROR(state_->CheckNodeType(type));
  std::string existing;
  for (const GraphDescription::SplitCount& candidate : state_->description.splits) {
    const std::string type_name = book().schema().NodeTypeName(candidate.node_type);
    existing += std::string(existing.empty() ? "" : ", ") + "'" + candidate.split + "' of '" + type_name + "'";
    if (candidate.node_type != type || candidate.split != split) continue;
    switch (part) {
      case graph::SplitPartName::kTrain: return candidate.train;
      case graph::SplitPartName::kValidation: return candidate.validation;
      case graph::SplitPartName::kTest: return candidate.test;
    }
  }
  return NotFound("there is no split '" + split + "' of node type '" + book().schema().NodeTypeName(type) +
                  "'; the graph's splits of nodes are " + (existing.empty() ? "none" : existing));
}

Result<uint64_t> PartitionedGraph::CountOfEdges(EdgeTypeId type, const std::string& split, graph::SplitPartName part) {
  RETURN_IF_ERROR(state_->CheckEdgeType(type));
  std::string existing;
  for (const GraphDescription::EdgeSplitCount& candidate : state_->description.edge_splits) {
    existing += std::string(existing.empty() ? "" : ", ") + "'" + candidate.split + "' of '" +
                book().schema().EdgeType(candidate.edge_type).Name() + "'";
    if (candidate.edge_type != type || candidate.split != split) continue;
    switch (part) {
      case graph::SplitPartName::kTrain: return candidate.train;
      case graph::SplitPartName::kValidation: return candidate.validation;
      case graph::SplitPartName::kTest: return candidate.test;
    }
  }
  return NotFound("there is no split '" + split + "' of edge type '" + book().schema().EdgeType(type).Name() +
                  "'; the graph's splits of edges are " + (existing.empty() ? "none" : existing));
}

Result<GlobalBatch> PartitionedGraph::SeedsOfStep(const SeedQuery& query, Deadline deadline) {
  if (query.batch_size == 0) return InvalidArgument("the batch size must be at least 1");
  const graph::GraphSchema& schema = book().schema();
  RETURN_IF_ERROR(CheckSeedTypes(query, schema));
  const bool of_edges = !query.edge_types.empty();
  std::vector<uint64_t> first_of_type;  // for edges: first ordinal of each type
  uint64_t total = 0;
  if (of_edges) {
    ASSIGN_OR_RETURN(first_of_type, FirstOrdinals(*this, query.edge_types, query.split, query.part));
    total = first_of_type.back();
  } else {
    ASSIGN_OR_RETURN(total, Count(query.node_type, query.split, query.part));
  }
  const PositionRange range = PositionsOfStep(total, query.batch_size, query.step);
  RETURN_IF_ERROR(CheckSeedPositions(query, range.size()));
  const uint64_t num_seeds = query.positions.has_value() ? query.positions->size() : range.size();
  if (num_seeds > std::numeric_limits<uint32_t>::max()) return ResourceExhausted("a batch has 2^32 seeds or more");
  GlobalBatch batch;
  batch.seeds.resize(num_seeds, GlobalNodeId(kUnfilled));
  if (of_edges) {
    batch.sources.resize(num_seeds);
    batch.types = FindTypesOfPositions(query, range, first_of_type);
    if (query.want_edge_ids) batch.edge_ids.resize(num_seeds);
  }
  // Returns whether the seed that a partition returned for a place exists: the node, or both endpoints of the edge.
  const auto exist = [&](uint64_t place, uint64_t node, uint64_t source) {
    if (!of_edges) return node < book().num_nodes(query.node_type);
    const EdgeTypeId type = query.edge_types[batch.types[place]];
    return node < book().num_nodes(schema.DestinationOf(type)) && source < book().num_nodes(schema.SourceOf(type));
  };

  std::vector<PartitionId> requested;
  for (uint32_t p = 0; p < book().num_partitions(); ++p) requested.push_back(PartitionId(p));
  const auto fan_out = std::make_shared<PartitionFanOut<PartitionSeeds>>(requested, nullptr);
  for (size_t p = 0; p < requested.size(); ++p) {
    state_->partitions[p]->SeedsOfStep(query, deadline, fan_out->Slot(p));
  }
  ASSIGN_OR_RETURN(const std::vector<PartitionSeeds> answers, fan_out->Wait(deadline));

  uint64_t filled = 0;
  SeedRows seed_rows(num_seeds);
  for (size_t p = 0; p < answers.size(); ++p) {
    RETURN_IF_ERROR(CheckSeedArrays(answers[p], query, requested[p]));
    const auto& [positions, nodes, sources, rows, edge_ids] = answers[p];
    std::vector<uint32_t> places;
    for (int64_t i = 0; i < nodes.num_elements(); ++i) {
      const auto position = static_cast<uint64_t>(positions.ValueAsInt(i));
      const uint64_t place = FindPlace(query, position);
      const auto node = static_cast<uint64_t>(nodes.ValueAsInt(i));
      const auto source = of_edges ? static_cast<uint64_t>(sources.ValueAsInt(i)) : 0;
      if (place >= num_seeds || !exist(place, node, source) || batch.seeds[place].value != kUnfilled) {
        return Internal("partition " + std::to_string(p) + " returned seed " + std::to_string(node) + " at position " +
                        std::to_string(position) + " of " + std::to_string(range.size()) +
                        ", expected existing nodes and each requested position once");
      }
      batch.seeds[place] = GlobalNodeId(node);
      if (of_edges) batch.sources[place] = GlobalNodeId(source);
      if (query.want_edge_ids) {
        batch.edge_ids[place] = GlobalEdgeId(static_cast<uint64_t>(edge_ids.ValueAsInt(i)));
        if (batch.edge_ids[place].value >= book().num_edges(query.edge_types.front())) {
          return Internal("partition " + std::to_string(p) +
                          " returned a seed edge that does not exist: " + std::to_string(batch.edge_ids[place].value));
        }
      }
      places.push_back(static_cast<uint32_t>(place));
    }
    filled += places.size();
    if (query.edge_column.empty()) continue;
    RETURN_IF_ERROR(seed_rows.Add(requested[p].value, Tensor::FromVector(std::move(places)), rows));
  }
  if (!query.edge_column.empty()) batch.rows = seed_rows.Take();
  if (filled == num_seeds) return batch;
  return Internal("the partitions returned " + std::to_string(filled) + " of the " + std::to_string(num_seeds) +
                  " seeds of step " + std::to_string(query.step));
}

// Looks up a long list in several requests: the negative nodes of a step may exceed one message.
Result<std::vector<GlobalNodeId>> PartitionedGraph::ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                                Deadline deadline) {
  if (nodes.size() <= kNodesPerLookUp) return LookUpChunk(type, nodes, deadline);
  std::vector<GlobalNodeId> found;
  found.reserve(nodes.size());
  for (size_t begin = 0; begin < nodes.size(); begin += kNodesPerLookUp) {
    const auto piece = nodes.subspan(begin, std::min(kNodesPerLookUp, nodes.size() - begin));
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> of_piece, LookUpChunk(type, piece, deadline));
    found.insert(found.end(), of_piece.begin(), of_piece.end());
  }
  return found;
}

Result<std::vector<GlobalNodeId>> PartitionedGraph::LookUpChunk(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                                Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckNodeType(type));
  const uint64_t num_nodes = book().num_nodes(type);
  const std::vector<uint64_t> first = EqualRanges(num_nodes, book().num_partitions());
  auto questions = std::make_shared<std::vector<std::vector<OriginalNodeId>>>(book().num_partitions());
  std::vector<std::vector<uint32_t>> places(book().num_partitions());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].value >= num_nodes) {
      return OutOfRange("original id " + std::to_string(nodes[i].value) + " of node type '" +
                        book().schema().NodeTypeName(type) + "' does not exist; expected an id below " +
                        std::to_string(num_nodes));
    }
    const uint32_t p = FindRange(first, nodes[i].value);
    (*questions)[p].push_back(nodes[i]);
    places[p].push_back(i);
  }
  const std::vector<PartitionId> requested = FindPartitionsWithPlaces(places);
  const auto fan_out = std::make_shared<PartitionFanOut<Tensor>>(requested, questions);
  for (size_t k = 0; k < requested.size(); ++k) {
    state_->partitions[requested[k].value]->ToGlobalIds(type, (*questions)[requested[k].value], deadline,
                                                        fan_out->Slot(k));
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> answers, fan_out->Wait(deadline));

  std::vector<GlobalNodeId> found(nodes.size());
  for (size_t k = 0; k < requested.size(); ++k) {
    const std::vector<uint32_t>& my_places = places[requested[k].value];
    RETURN_IF_ERROR(CheckIds(answers[k], "looked-up ids"));
    RETURN_IF_ERROR(CheckCount(answers[k], my_places.size(), requested[k]));
    for (size_t i = 0; i < my_places.size(); ++i) {
      found[my_places[i]] = GlobalNodeId(static_cast<uint64_t>(answers[k].ValueAsInt(static_cast<int64_t>(i))));
    }
  }
  RETURN_IF_ERROR(state_->CheckNodes(type, found));
  return found;
}

Result<Tensor> PartitionedGraph::InDegrees(EdgeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckEdgeType(type));
  const NodeTypeId node_type = book().schema().DestinationOf(type);
  RETURN_IF_ERROR(state_->CheckNodes(node_type, nodes));
  const auto route = std::make_shared<const OwnerRoute>(RouteToOwners(book().NodeFirst(node_type), nodes));
  const std::vector<std::vector<uint32_t>> places = GroupPlacesByOwner(*route, nodes.size());
  const std::vector<PartitionId> requested = FindPartitionsWithPlaces(places);
  const auto fan_out = std::make_shared<PartitionFanOut<Tensor>>(requested, route);
  for (size_t k = 0; k < requested.size(); ++k) {
    state_->partitions[requested[k].value]->InDegrees(type, route->locals[requested[k].value], deadline,
                                                      fan_out->Slot(k));
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> answers, fan_out->Wait(deadline));

  std::vector<uint32_t> degrees(nodes.size());
  for (size_t k = 0; k < requested.size(); ++k) {
    const std::vector<uint32_t>& my_places = places[requested[k].value];
    RETURN_IF_ERROR(CheckIds(answers[k], "in-degrees"));
    RETURN_IF_ERROR(CheckCount(answers[k], my_places.size(), requested[k]));
    for (size_t i = 0; i < my_places.size(); ++i) {
      degrees[my_places[i]] = static_cast<uint32_t>(answers[k].ValueAsInt(static_cast<int64_t>(i)));
    }
  }
  return Tensor::FromVector(std::move(degrees));
}

}  // namespace espalier::sampler
