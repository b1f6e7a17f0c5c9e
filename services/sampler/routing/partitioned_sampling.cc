// PartitionedGraph samples one hop. Destinations, with their times, walks and exclusions, are grouped by owner
// (MakeQueries), every owner with work gets one request for all relations, and Merge reads the responses with one
// cursor per partition to restore the order of the destinations. The dtypes and lengths of a response are checked
// before Merge reads it, the range of its ids afterwards.
#include <algorithm>
#include <limits>

#include "services/sampler/access/draw_rule.h"
#include "services/sampler/access/owner_route.h"
#include "services/sampler/routing/partition_fan_out.h"
#include "services/sampler/routing/partitioned_graph_state.h"

namespace espalier::sampler {
namespace {

// Reads a U32 or U64 tensor sequentially as 64-bit ids.
class IdReader {
 public:
  explicit IdReader(const Tensor& ids)
      : narrow_(ids.dtype() == DType::kU32 ? reinterpret_cast<const uint32_t*>(ids.bytes()) : nullptr),
        wide_(ids.dtype() == DType::kU64 ? reinterpret_cast<const uint64_t*>(ids.bytes()) : nullptr) {}

  // Appends the next `count` ids to `out`.
  template <class Id>
  void Append(size_t count, std::vector<Id>& out) {
    if (narrow_ != nullptr) {
      AppendFrom(narrow_, count, out);
    } else {
      AppendFrom(wide_, count, out);
    }
  }
  // Returns the largest id appended so far.
  uint64_t largest() const { return largest_; }

 private:
  template <class T, class Id>
  void AppendFrom(const T*& from, size_t count, std::vector<Id>& out) {
    const size_t old_size = out.size();
    out.resize(old_size + count);
    Id* const to = out.data() + old_size;
    T largest = 0;
    for (size_t i = 0; i < count; ++i) {
      to[i] = Id(from[i]);
      largest = std::max(largest, from[i]);
    }
    largest_ = std::max<uint64_t>(largest_, largest);
    from += count;
  }

  const uint32_t* narrow_;
  const uint64_t* wide_;
  uint64_t largest_ = 0;
};

struct HopRequests {
  std::vector<PartitionId> partitions;
  std::vector<PartitionHopQuery> queries;  // one for each of `partitions`
};

// Divides `values`, which is empty or has one element per destination, among the owners of the destinations. Returns
// the values of each partition, in the order of route.locals.
template <class T>
std::vector<std::vector<T>> SplitByOwner(const OwnerRoute& route, std::span<const T> values) {
  std::vector<std::vector<T>> parts(route.locals.size());
  if (route.owner.empty()) {
    parts[0].assign(values.begin(), values.end());
    return parts;
  }
  for (size_t i = 0; i < values.size(); ++i) parts[route.owner[i]].push_back(values[i]);
  return parts;
}

// Adds the excluded edges of relation `index` to the queries of the partitions that own their destinations, in
// unchanged order. An edge whose destination is owned by a partition without a query cannot be drawn anyway.
void AddExclusions(const RelationQuery& relation, const graph::PartitionBook& book, HopRequests& requested,
                   size_t index) {
  if (relation.excluded.empty()) return;
  const NodeTypeId type = book.schema().DestinationOf(relation.edge_type);
  std::vector<PartitionRelationQuery*> query_of(book.num_partitions(), nullptr);
  for (size_t k = 0; k < requested.partitions.size(); ++k) {
    query_of[requested.partitions[k].value] = &requested.queries[k].relations[index];
  }
  for (const EdgeEnds& edge : relation.excluded) {
    const graph::NodeLocation at = book.Locate(type, edge.destination);
    PartitionRelationQuery* const to = query_of[at.partition.value];
    if (to == nullptr) continue;
    to->excluded_destinations.push_back(at.local);
    to->excluded_sources.push_back(edge.source);
  }
}

// Returns one query for each partition that owns destinations. Moves the local ids out of `routes`, which has one route
// per relation.
HopRequests MakeQueries(const HopQuery& query, std::vector<OwnerRoute>& routes, const graph::PartitionBook& book) {
  const uint32_t num_partitions = book.num_partitions();
  HopRequests requested;
  std::vector<std::vector<std::vector<int64_t>>> times;   // [relation][partition]
  std::vector<std::vector<std::vector<uint64_t>>> walks;  // [relation][partition]
  for (size_t r = 0; r < query.relations.size(); ++r) {
    times.push_back(SplitByOwner(routes[r], query.relations[r].times));
    walks.push_back(SplitByOwner(routes[r], query.relations[r].walks));
  }
  for (uint32_t p = 0; p < num_partitions; ++p) {
    const bool has_work =
        std::any_of(routes.begin(), routes.end(), [p](const OwnerRoute& route) { return !route.locals[p].empty(); });
    if (!has_work) continue;
    PartitionHopQuery part{
        .seed = query.seed, .at = query.at, .draw = query.draw, .want_edge_ids = query.want_edge_ids};
    for (size_t r = 0; r < query.relations.size(); ++r) {
      part.relations.push_back({.edge_type = query.relations[r].edge_type,
                                .fanout = query.relations[r].fanout,
                                .destinations = std::move(routes[r].locals[p]),
                                .times = std::move(times[r][p]),
                                .walks = std::move(walks[r][p])});
    }
    requested.partitions.push_back(PartitionId(p));
    requested.queries.push_back(std::move(part));
  }
  for (size_t r = 0; r < query.relations.size(); ++r) AddExclusions(query.relations[r], book, requested, r);
  return requested;
}

Status CheckExclusions(const RelationQuery& relation, const graph::PartitionBook& book) {
  const uint64_t num_sources = book.num_nodes(book.schema().SourceOf(relation.edge_type));
  const uint64_t num_destinations = book.num_nodes(book.schema().DestinationOf(relation.edge_type));
  for (size_t i = 0; i < relation.excluded.size(); ++i) {
    const EdgeEnds& edge = relation.excluded[i];
    const bool exists = edge.source.value < num_sources && edge.destination.value < num_destinations;
    if (exists && (i == 0 || !(edge < relation.excluded[i - 1]))) continue;
    return InvalidArgument("excluded edge " + std::to_string(i) + " (" + std::to_string(edge.source.value) + " -> " +
                           std::to_string(edge.destination.value) +
                           "): expected existing nodes, and edges ascending by destination, then by source");
  }
  return {};
}

// Returns Internal if the arrays of a response, which may come from another process, do not fit each other or the
// request.
Status CheckAnswer(const PartitionRelationSample& answer, size_t num_destinations, bool want_edge_ids) {
  const auto is_ids = [](const Tensor& t) { return t.dtype() == DType::kU32 || t.dtype() == DType::kU64; };
  if (answer.counts.dtype() != DType::kU32 || static_cast<size_t>(answer.counts.num_elements()) != num_destinations) {
    return Internal("sampling returned counts " + answer.counts.ToString() + ", expected U32 [" +
                    std::to_string(num_destinations) + "]");
  }
  uint64_t total = 0;
  for (const uint32_t count : answer.counts.values<uint32_t>()) total += count;
  if (!is_ids(answer.sources) || static_cast<uint64_t>(answer.sources.num_elements()) != total) {
    return Internal("sampling returned sources " + answer.sources.ToString() + ", expected " + std::to_string(total) +
                    " ids");
  }
  if (want_edge_ids && (!is_ids(answer.edge_ids) || static_cast<uint64_t>(answer.edge_ids.num_elements()) != total)) {
    return Internal("sampling returned edge ids " + answer.edge_ids.ToString() + ", expected " + std::to_string(total) +
                    " ids");
  }
  return {};
}

Status CheckLargest(uint64_t largest, uint64_t bound, const char* what) {
  if (largest < bound) return {};
  return Internal(std::string("sampling returned ") + what + " " + std::to_string(largest) + ", expected below " +
                  std::to_string(bound));
}

// The position up to which one partition's response has been read.
struct AnswerCursor {
  const uint32_t* next_count;
  IdReader sources;
  IdReader edge_ids;
};

// Merges the responses of the requested partitions into the order of the destinations.
Result<RelationSample> Merge(const HopQuery& query, size_t relation, const OwnerRoute& route,
                             const std::vector<PartitionId>& requested, const std::vector<PartitionHopSample>& answers,
                             const graph::PartitionBook& book) {
  const RelationQuery& relation_query = query.relations[relation];
  const size_t num_destinations = relation_query.destinations.size();
  std::vector<uint32_t> slot_of(book.num_partitions(), 0);
  std::vector<AnswerCursor> cursors;
  size_t total = 0;
  for (size_t k = 0; k < requested.size(); ++k) {
    const PartitionRelationSample& answer = answers[k].relations[relation];
    cursors.push_back({answer.counts.values<uint32_t>().data(), IdReader(answer.sources), IdReader(answer.edge_ids)});
    slot_of[requested[k].value] = static_cast<uint32_t>(k);
    total += static_cast<size_t>(answer.sources.num_elements());
  }

  RelationSample sample;
  sample.offsets.reserve(num_destinations + 1);
  sample.offsets.push_back(0);
  sample.sources.reserve(total);
  if (query.want_edge_ids) sample.edge_ids.reserve(total);
  if (route.owner.empty() && !cursors.empty()) {  // with one partition the response has the order of the request
    for (size_t i = 0; i < num_destinations; ++i) {
      sample.offsets.push_back(sample.offsets.back() + cursors[0].next_count[i]);
    }
    cursors[0].sources.Append(total, sample.sources);
    if (query.want_edge_ids) cursors[0].edge_ids.Append(total, sample.edge_ids);
  } else {
    for (size_t i = 0; i < num_destinations; ++i) {
      AnswerCursor& cursor = cursors[slot_of[route.owner[i]]];
      const uint32_t count = *cursor.next_count++;
      cursor.sources.Append(count, sample.sources);
      if (query.want_edge_ids) cursor.edge_ids.Append(count, sample.edge_ids);
      sample.offsets.push_back(sample.sources.size());
    }
  }
  if (total == 0) return sample;
  const uint64_t num_sources = book.num_nodes(book.schema().SourceOf(relation_query.edge_type));
  for (const AnswerCursor& cursor : cursors) {
    RETURN_IF_ERROR(CheckLargest(cursor.sources.largest(), num_sources, "source"));
    if (!query.want_edge_ids) continue;
    RETURN_IF_ERROR(CheckLargest(cursor.edge_ids.largest(), book.num_edges(relation_query.edge_type), "edge id"));
  }
  return sample;
}

}  // namespace

Result<HopSample> PartitionedGraph::SampleInEdges(const HopQuery& query, Deadline deadline) {
  RETURN_IF_ERROR(CheckDrawRule(query));  // first, because SplitByOwner relies on the lengths of times and walks
  std::vector<OwnerRoute> routes;
  for (const RelationQuery& relation : query.relations) {
    RETURN_IF_ERROR(state_->CheckEdgeType(relation.edge_type));
    const NodeTypeId destination_type = book().schema().DestinationOf(relation.edge_type);
    RETURN_IF_ERROR(state_->CheckNodes(destination_type, relation.destinations));
    RETURN_IF_ERROR(CheckExclusions(relation, book()));
    routes.push_back(RouteToOwners(book().NodeFirst(destination_type), relation.destinations));
  }
  HopRequests requested = MakeQueries(query, routes, book());
  std::vector<std::vector<size_t>> num_destinations;  // [requested][relation]
  for (const PartitionHopQuery& part : requested.queries) {
    num_destinations.emplace_back();
    for (const PartitionRelationQuery& relation : part.relations) {
      num_destinations.back().push_back(relation.destinations.size());
    }
  }
  const auto fan_out = std::make_shared<PartitionFanOut<PartitionHopSample>>(requested.partitions, nullptr);
  for (size_t k = 0; k < requested.partitions.size(); ++k) {
    state_->partitions[requested.partitions[k].value]->SampleInEdges(std::move(requested.queries[k]), deadline,
                                                                     fan_out->Slot(k));
  }
  ASSIGN_OR_RETURN(const std::vector<PartitionHopSample> answers, fan_out->Wait(deadline));

  for (size_t k = 0; k < answers.size(); ++k) {
    const std::string name = "partition " + std::to_string(requested.partitions[k].value);
    if (answers[k].relations.size() != query.relations.size()) {
      return Internal(name + ": sampling returned " + std::to_string(answers[k].relations.size()) +
                      " relations, expected " + std::to_string(query.relations.size()));
    }
    for (size_t r = 0; r < query.relations.size(); ++r) {
      Status status = CheckAnswer(answers[k].relations[r], num_destinations[k][r], query.want_edge_ids);
      if (!status.ok()) return std::move(status).While(name);
    }
  }
  HopSample hop;
  for (size_t r = 0; r < query.relations.size(); ++r) {
    ASSIGN_OR_RETURN(RelationSample sample, Merge(query, r, routes[r], requested.partitions, answers, book()));
    hop.relations.push_back(std::move(sample));
  }
  return hop;
}

Result<std::vector<int64_t>> PartitionedGraph::ReadTimes(NodeTypeId type, const std::string& column,
                                                         std::span<const GlobalNodeId> nodes, Deadline deadline) {
  if (state_->FindAttached(RowSpace::Nodes(type), column).has_value()) {
    return NotFound("column '" + column + "' of node type '" + book().schema().NodeTypeName(type) +
                    "' is an attached tensor, but times are read only from columns of the graph");
  }
  ASSIGN_OR_RETURN(const Tensor rows, GatherRows(type, column, nodes, deadline));
  const bool is_integer = !IsFloating(rows.dtype()) && rows.dtype() != DType::kBool;
  if (!is_integer || rows.row_bytes() != ItemSize(rows.dtype())) {
    return InvalidArgument("column '" + column + "' of node type '" + book().schema().NodeTypeName(type) +
                           "' does not hold times: expected one integer for each node, found " + rows.ToString());
  }
  std::vector<int64_t> times(nodes.size());
  for (size_t i = 0; i < times.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    if (rows.dtype() == DType::kU64 &&
        rows.values<uint64_t>()[i] > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return InvalidArgument("column '" + column + "' of node type '" + book().schema().NodeTypeName(type) +
                             "' has the time " + std::to_string(rows.values<uint64_t>()[i]) + ", expected below 2^63");
    }
    times[i] = rows.ValueAsInt(row);
  }
  return times;
}

}  // namespace espalier::sampler
