// Compares partitions with their source, edge by edge and node by node.
#include "services/partition/build_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include "services/partition/testing/small_graphs.h"

namespace espalier::partition {
namespace {

using ::testing::ElementsAre;
using testing::GraphOf;
using ::testing::HasSubstr;
using testing::TypedGraph;

std::vector<int64_t> IntsOf(const Tensor& tensor) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) values.push_back(tensor.ValueAsInt(i));
  return values;
}

std::string BytesOf(const Tensor& tensor) {
  return std::string(reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
}

std::string RowOf(const Tensor& tensor, int64_t row) {
  return std::string(reinterpret_cast<const char*>(tensor.bytes()) + static_cast<size_t>(row) * tensor.row_bytes(),
                     tensor.row_bytes());
}

Assignment RandomAssignment(const graph::SourceGraph& graph, uint32_t num_partitions) {
  return *MakeRandomPartitioner()->Partition(graph, {.num_partitions = num_partitions, .seed = 3});
}

// Owner, local ID and global ID of a node. PlacesByHand computes them by original ID with a scan of the assignment.
struct Place {
  uint32_t partition;
  int64_t local;
  int64_t global;
};
std::vector<Place> PlacesByHand(const std::vector<uint32_t>& partition_of, uint32_t num_partitions) {
  std::vector<Place> places(partition_of.size());
  int64_t global = 0;
  for (uint32_t p = 0; p < num_partitions; ++p) {
    int64_t local = 0;
    for (size_t node = 0; node < partition_of.size(); ++node) {
      if (partition_of[node] == p) places[node] = {p, local++, global++};
    }
  }
  return places;
}

// Returns the rows of the source's edge list of the in-edges of each owned node in the documented order, computed by
// sorting all edges.
std::vector<int64_t> RowsByHand(const graph::EdgeSet& edges, const std::vector<Place>& destinations, uint32_t partition,
                                const std::string& time_column) {
  std::vector<std::tuple<int64_t, double, int64_t, int64_t, int64_t>> order;  // destination, time, source, id, row
  for (int64_t row = 0; row < edges.sources.num_rows(); ++row) {
    const Place& to = destinations[static_cast<size_t>(edges.destinations.ValueAsInt(row))];
    if (to.partition != partition) continue;
    const auto times = edges.columns.find(time_column);
    order.emplace_back(to.local, times == edges.columns.end() ? 0 : times->second.ValueAsDouble(row),
                       edges.sources.ValueAsInt(row),
                       edges.original_ids.empty() ? row : edges.original_ids.ValueAsInt(row), row);
  }
  std::sort(order.begin(), order.end());
  std::vector<int64_t> rows;
  for (const auto& entry : order) rows.push_back(std::get<4>(entry));
  return rows;
}

void ExpectInEdges(const graph::SourceGraph& graph, const PartitionSet& set, const Assignment& assignment,
                   uint32_t partition, EdgeTypeId type, const std::string& time_column) {
  const auto num_partitions = set.book.num_partitions();
  const graph::EdgeSet& edges = graph.edges_of(type);
  const auto sources = PlacesByHand(assignment[graph.schema.SourceOf(type).value], num_partitions);
  const auto destinations = PlacesByHand(assignment[graph.schema.DestinationOf(type).value], num_partitions);
  const graph::Partition& built = set.partitions[partition];
  const std::vector<int64_t> rows = RowsByHand(edges, destinations, partition, time_column);

  std::vector<int64_t> indptr(built.nodes[graph.schema.DestinationOf(type).value].count + 1, 0), indices, original;
  for (const int64_t row : rows) {
    ++indptr[static_cast<size_t>(destinations[static_cast<size_t>(edges.destinations.ValueAsInt(row))].local) + 1];
    indices.push_back(sources[static_cast<size_t>(edges.sources.ValueAsInt(row))].global);
    original.push_back(edges.original_ids.empty() ? row : edges.original_ids.ValueAsInt(row));
  }
  for (size_t i = 1; i < indptr.size(); ++i) indptr[i] += indptr[i - 1];

  EXPECT_EQ(IntsOf(built.in_edges[type.value].indptr), indptr);
  EXPECT_EQ(IntsOf(built.in_edges[type.value].indices), indices);
  EXPECT_EQ(IntsOf(built.original_edge_ids[type.value]), original);
  EXPECT_EQ(set.book.NumOwnedEdges(PartitionId(partition), type), rows.size());
  for (const auto& [name, column] : edges.columns) {
    const Tensor& gathered = built.edge_columns[type.value].at(name);
    for (size_t k = 0; k < rows.size(); ++k) {
      ASSERT_EQ(RowOf(gathered, static_cast<int64_t>(k)), RowOf(column, rows[k])) << name << " of edge " << k;
    }
  }
}

void ExpectNodes(const graph::SourceGraph& graph, const PartitionSet& set, const Assignment& assignment,
                 uint32_t partition, NodeTypeId type) {
  const auto places = PlacesByHand(assignment[type.value], set.book.num_partitions());
  const graph::OwnedNodes& nodes = set.partitions[partition].nodes[type.value];
  std::vector<int64_t> owned;
  for (size_t node = 0; node < places.size(); ++node) {
    if (places[node].partition == partition) owned.push_back(static_cast<int64_t>(node));
  }
  EXPECT_EQ(nodes.count, owned.size());
  EXPECT_EQ(IntsOf(nodes.original_ids), owned);
  for (const auto& [name, column] : graph.nodes_of(type).columns) {
    for (size_t local = 0; local < owned.size(); ++local) {
      ASSERT_EQ(RowOf(nodes.columns.at(name), static_cast<int64_t>(local)), RowOf(column, owned[local])) << name;
    }
  }
}

class BuildPartitionTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(BuildPartitionTest, HasEveryEdgeAndNodeInDocumentedOrder) {
  const graph::SourceGraph graph = TypedGraph(40, /*seed=*/1);
  const Assignment assignment = RandomAssignment(graph, GetParam());
  for (const std::string time_column : {"", "year"}) {
    const auto set = BuildAllPartitions(graph, assignment, GetParam(), {.time_column = time_column});
    ASSERT_TRUE(set.ok()) << set.status().ToString();
    for (uint32_t p = 0; p < GetParam(); ++p) {
      for (uint16_t type = 0; type < 3; ++type) {
        ExpectNodes(graph, *set, assignment, p, NodeTypeId(type));
        ExpectInEdges(graph, *set, assignment, p, EdgeTypeId(type), time_column);
      }
    }
  }
}

TEST_P(BuildPartitionTest, SlicesOfTheDirectoryMapEveryOriginalId) {
  const graph::SourceGraph graph = TypedGraph(11, /*seed=*/1);
  const Assignment assignment = RandomAssignment(graph, GetParam());
  const PartitionSet set = *BuildAllPartitions(graph, assignment, GetParam(), {});
  for (uint16_t type = 0; type < 3; ++type) {
    const auto places = PlacesByHand(assignment[type], GetParam());
    std::vector<int64_t> all;
    for (const graph::Partition& built : set.partitions) {
      EXPECT_EQ(built.directory[type].first, all.size());
      EXPECT_EQ(built.directory[type].first, places.size() * built.id.value / GetParam());
      const auto slice = IntsOf(built.directory[type].global_ids);
      all.insert(all.end(), slice.begin(), slice.end());
    }
    ASSERT_EQ(all.size(), places.size());
    for (size_t node = 0; node < places.size(); ++node) EXPECT_EQ(all[node], places[node].global);
  }
}

TEST_P(BuildPartitionTest, SplitsKeepTheOrdinalsOfTheWholeSplit) {
  const graph::SourceGraph graph = TypedGraph(20, /*seed=*/1);
  const PartitionSet set = *BuildAllPartitions(graph, RandomAssignment(graph, GetParam()), GetParam(), {});
  const std::vector<uint64_t>& validation = graph.splits.at("public").at(1).validation;
  std::vector<int64_t> seen(validation.size(), -1);
  for (const graph::Partition& built : set.partitions) {
    const graph::SplitPart& part =
        built.splits.at("public").at(1)[static_cast<size_t>(graph::SplitPartName::kValidation)];
    EXPECT_EQ(part.total, validation.size());
    ASSERT_EQ(part.local_ids.num_rows(), part.ordinals.num_rows());
    for (int64_t i = 0; i < part.ordinals.num_rows(); ++i) {
      seen[static_cast<size_t>(part.ordinals.ValueAsInt(i))] =
          built.nodes[1].original_ids.ValueAsInt(part.local_ids.ValueAsInt(i));
    }
  }
  EXPECT_EQ(seen, std::vector<int64_t>(validation.begin(), validation.end()));
}

TEST_P(BuildPartitionTest, OutDegreesCountTheEdgesOfAllPartitions) {
  const graph::SourceGraph graph = TypedGraph(20, /*seed=*/1);
  const PartitionSet set = *BuildAllPartitions(graph, RandomAssignment(graph, GetParam()), GetParam(), {});
  std::vector<int64_t> expected(graph.nodes[1].count, 0);
  for (const int64_t source : IntsOf(graph.edges[2].sources)) ++expected[static_cast<size_t>(source)];
  for (const graph::Partition& built : set.partitions) {
    const Tensor& degrees = built.nodes[1].columns.at("out_degree.cites.paper");
    EXPECT_EQ(degrees.dtype(), DType::kU32);
    for (int64_t local = 0; local < degrees.num_rows(); ++local) {
      EXPECT_EQ(degrees.ValueAsInt(local),
                expected[static_cast<size_t>(built.nodes[1].original_ids.ValueAsInt(local))]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Partitions, BuildPartitionTest, ::testing::Values(1, 2, 5, 17));

// Edges 2 -> 0 twice and 1 -> 0 once are ordered by source, then by the original edge ID.
TEST(BuildInEdgesTest, OrdersParallelEdgesByTheirOriginalIds) {
  graph::SourceGraph graph = GraphOf(3, {{2, 0}, {1, 0}, {2, 0}});
  graph.edges[0].original_ids = Tensor::FromVector(std::vector<uint64_t>{9, 8, 7});
  const PartitionSet set = *BuildAllPartitions(graph, {{0, 0, 0}}, 1, {});
  EXPECT_THAT(IntsOf(set.partitions[0].in_edges[0].indices), ElementsAre(1, 2, 2));
  EXPECT_THAT(IntsOf(set.partitions[0].original_edge_ids[0]), ElementsAre(8, 7, 9));
}

TEST(BuildInEdgesTest, WidensOriginalEdgeIdsOnlyIfNeeded) {
  graph::SourceGraph graph = GraphOf(2, {{1, 0}, {0, 1}});
  graph.edges[0].original_ids = Tensor::FromVector(std::vector<uint64_t>{5, uint64_t{1} << 32});
  const PartitionSet set = *BuildAllPartitions(graph, {{0, 1}}, 2, {});
  EXPECT_EQ(set.partitions[0].original_edge_ids[0].dtype(), DType::kU64);  // equal in all partitions
  EXPECT_THAT(IntsOf(set.partitions[1].original_edge_ids[0]), ElementsAre(int64_t{1} << 32));
  EXPECT_EQ(set.partitions[0].in_edges[0].indices.dtype(), DType::kU32);
  EXPECT_EQ(set.partitions[0].in_edges[0].indptr.dtype(), DType::kU32);
}

TEST(BuildInEdgesTest, OrdersFloatingTimesAcrossZero) {
  graph::SourceGraph graph = GraphOf(5, {{1, 0}, {2, 0}, {3, 0}, {4, 0}});
  graph.edges[0].columns["time"] = Tensor::FromVector(std::vector<float>{0.0f, -0.0f, -7.5f, 0.25f});
  const PartitionSet set = *BuildAllPartitions(graph, {{0, 0, 0, 0, 0}}, 1, {.time_column = "time"});
  EXPECT_THAT(IntsOf(set.partitions[0].in_edges[0].indices), ElementsAre(3, 1, 2, 4));
}

TEST(BuildInEdgesTest, TakesEveryDtypeOfIds) {
  const graph::SourceGraph narrow = TypedGraph(10, /*seed=*/1);
  const Assignment assignment = RandomAssignment(narrow, 2);
  const PartitionSet expected = *BuildAllPartitions(narrow, assignment, 2, {});
  const auto convert = [](const Tensor& ids, auto example) {
    std::vector<decltype(example)> values;
    for (const int64_t id : IntsOf(ids)) values.push_back(static_cast<decltype(example)>(id));
    return Tensor::FromVector(std::move(values));
  };
  const auto expect_same = [&](auto example) {
    graph::SourceGraph graph = narrow;
    for (graph::EdgeSet& edges : graph.edges) {
      edges.sources = convert(edges.sources, example);
      edges.destinations = convert(edges.destinations, example);
    }
    const PartitionSet set = *BuildAllPartitions(graph, assignment, 2, {});
    EXPECT_EQ(BytesOf(set.partitions[1].in_edges[2].indices), BytesOf(expected.partitions[1].in_edges[2].indices));
  };
  expect_same(int32_t{});
  expect_same(int64_t{});
  expect_same(uint64_t{});
}

// The graph is so large that several threads work on the same rows and chunks.
TEST(BuildInEdgesTest, IsTheSameForAnyNumberOfThreads) {
  const graph::SourceGraph graph = TypedGraph(30000, /*seed=*/2);
  const Assignment assignment = RandomAssignment(graph, 3);
  const PartitionSet one = *BuildAllPartitions(graph, assignment, 3, {.threads = 1, .time_column = "year"});
  const PartitionSet four = *BuildAllPartitions(graph, assignment, 3, {.threads = 4, .time_column = "year"});
  EXPECT_EQ(one.book, four.book);
  for (size_t p = 0; p < 3; ++p) {
    for (size_t type = 0; type < 3; ++type) {
      EXPECT_EQ(BytesOf(one.partitions[p].in_edges[type].indptr), BytesOf(four.partitions[p].in_edges[type].indptr));
      EXPECT_EQ(BytesOf(one.partitions[p].in_edges[type].indices), BytesOf(four.partitions[p].in_edges[type].indices));
      EXPECT_EQ(BytesOf(one.partitions[p].original_edge_ids[type]),
                BytesOf(four.partitions[p].original_edge_ids[type]));
      for (const auto& [name, column] : one.partitions[p].nodes[type].columns) {
        EXPECT_EQ(BytesOf(column), BytesOf(four.partitions[p].nodes[type].columns.at(name)));
      }
    }
  }
}

TEST(BuildAllPartitionsTest, AcceptsAGraphWithoutNodesAndPartitionsWithoutNodes) {
  const PartitionSet empty = *BuildAllPartitions(GraphOf(0, {}), {{}}, 2, {});
  EXPECT_EQ(empty.partitions[1].nodes[0].count, 0u);
  const PartitionSet one_sided = *BuildAllPartitions(GraphOf(2, {{0, 1}}), {{1, 1}}, 3, {});
  EXPECT_THAT(IntsOf(one_sided.partitions[0].in_edges[0].indptr), ElementsAre(0));
  EXPECT_THAT(IntsOf(one_sided.partitions[1].in_edges[0].indptr), ElementsAre(0, 0, 1));
}

TEST(MakePartitionLayoutTest, RefusesInvalidAssignments) {
  const auto refusal = [](const graph::SourceGraph& graph, const Assignment& assignment) {
    return MakePartitionLayout(graph, assignment, 2, 1).status();
  };
  EXPECT_THAT(refusal(GraphOf(2, {}), {{0, 2}}).message(), HasSubstr("row 1: partition 2 does not exist"));
  EXPECT_THAT(refusal(GraphOf(2, {}), {{0}}).message(), HasSubstr("one per node: 2"));
  EXPECT_EQ(refusal(GraphOf(2, {{0, 1}, {0, 7}}), {{0, 1}}).code(), StatusCode::kOutOfRange);
  EXPECT_THAT(refusal(GraphOf(2, {{0, 1}, {0, 7}}), {{0, 1}}).message(), HasSubstr("edge 1: 0 -> 7"));

  graph::SourceGraph reserved = GraphOf(2, {});
  reserved.nodes[0].columns["original_id"] = Tensor::FromVector(std::vector<float>{1, 2});
  EXPECT_THAT(refusal(reserved, {{0, 1}}).message(), HasSubstr("original_id"));

  graph::SourceGraph split = GraphOf(2, {});
  split.splits["public"][0].test = {2};
  EXPECT_THAT(refusal(split, {{0, 1}}).message(), HasSubstr("split 'public' of node type 'node', test: node 2"));
}

TEST(MakePartitionLayoutTest, NamesNegativeEndpoints) {
  graph::SourceGraph graph = GraphOf(2, {});
  graph.edges[0].sources = Tensor::FromVector(std::vector<int64_t>{-1});
  graph.edges[0].destinations = Tensor::FromVector(std::vector<int64_t>{0});
  EXPECT_THAT(MakePartitionLayout(graph, {{0, 1}}, 2, 1).status().message(), HasSubstr("edge 0: -1 -> 0"));
}

TEST(CheckTimeColumnTest, RequiresOneNumberPerEdge) {
  const graph::SourceGraph graph = TypedGraph(5, /*seed=*/1);
  EXPECT_TRUE(CheckTimeColumn(graph, "").ok());
  EXPECT_TRUE(CheckTimeColumn(graph, "year").ok());
  EXPECT_THAT(CheckTimeColumn(graph, "weight").message(), HasSubstr("author:writes:paper"));
  EXPECT_THAT(CheckTimeColumn(graph, "when").message(), HasSubstr("'when'"));
}

TEST(SourceColumnsTest, EqualRowsOfSourceNodes) {
  graph::SourceGraph source = TypedGraph(20, /*seed=*/1);
  for (graph::NodeSet& nodes : source.nodes) {
    std::vector<uint8_t> mask(nodes.count);
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = static_cast<uint8_t>(i % 2);
    nodes.columns["mask"] = Tensor::FromVector(std::move(mask));
  }
  const auto set = BuildAllPartitions(source, RandomAssignment(source, 3), 3,
                                      {.threads = 2, .source_columns = {"original_id", "mask"}});
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  for (const graph::Partition& partition : set->partitions) {
    for (uint16_t type = 0; type < source.edges.size(); ++type) {
      const NodeTypeId source_type = source.schema.SourceOf(EdgeTypeId(type));
      const Tensor& ids = partition.edge_columns[type].at("source.original_id");
      const Tensor& masks = partition.edge_columns[type].at("source.mask");
      const Tensor& indices = partition.in_edges[type].indices;
      ASSERT_EQ(ids.num_rows(), indices.num_rows());
      ASSERT_EQ(masks.num_rows(), indices.num_rows());
      for (int64_t k = 0; k < indices.num_rows(); ++k) {
        const GlobalNodeId global(static_cast<uint64_t>(indices.ValueAsInt(k)));
        const graph::NodeLocation at = set->book.Locate(source_type, global);
        const Tensor& original_ids = set->partitions[at.partition.value].nodes[source_type.value].original_ids;
        ASSERT_EQ(ids.ValueAsInt(k), original_ids.ValueAsInt(at.local.value));
        ASSERT_EQ(masks.ValueAsInt(k), ids.ValueAsInt(k) % 2);
      }
    }
  }
}

TEST(SourceColumnsTest, NamesUnsupportedColumns) {
  graph::SourceGraph source = TypedGraph(20, /*seed=*/1);
  EXPECT_THAT(CheckSourceColumns(source, {"original_id", "color"}).message(), HasSubstr("'color'"));
  EXPECT_THAT(CheckSourceColumns(source, {"original_id", "original_id"}).message(), HasSubstr("named twice"));
  source.edges[0].columns["source.original_id"] =
      Tensor::Zeros(DType::kU8, {static_cast<int64_t>(source.edges[0].num_edges())});
  EXPECT_THAT(CheckSourceColumns(source, {"original_id"}).message(), HasSubstr("rename it"));
  EXPECT_THAT(CheckSourceColumns(source, {}).message(), HasSubstr("rename it"));
  source.edges[0].columns.erase("source.original_id");
  EXPECT_TRUE(CheckSourceColumns(source, {}).ok());

  const std::string long_name(122, 'x');
  source.nodes[0].columns[long_name] = Tensor::Zeros(DType::kU8, {static_cast<int64_t>(source.nodes[0].count)});
  EXPECT_THAT(CheckSourceColumns(source, {long_name}).message(), HasSubstr("more than 128"));
}

TEST(OutDegreeColumnNameTest, IsAlwaysAValidNameAndNeverAmbiguous) {
  EXPECT_EQ(OutDegreeColumnName({"author", "writes", "paper"}), "out_degree.writes.paper");
  const std::string long_name(128, 'x');
  std::set<std::string> names;
  for (const auto& [relation, destination] : std::vector<std::pair<std::string, std::string>>{
           {"a.b", "c"}, {"a", "b.c"}, {"a", "c"}, {long_name, "c"}, {"a", long_name}}) {
    const std::string name = OutDegreeColumnName({"s", relation, destination});
    EXPECT_TRUE(graph::CheckName("column", name).ok()) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(DirectoryRangeTest, CoversEverythingWithoutOverflow) {
  const uint64_t huge = (uint64_t{1} << 62) + 7;
  EXPECT_EQ(DirectoryRangeFor(huge, 1000, PartitionId(0)).first, 0u);
  EXPECT_EQ(DirectoryRangeFor(huge, 1000, PartitionId(999)).last, huge);
  EXPECT_EQ(DirectoryRangeFor(10, 3, PartitionId(1)).first, 3u);
  EXPECT_EQ(DirectoryRangeFor(10, 3, PartitionId(1)).last, 6u);
}

}  // namespace
}  // namespace espalier::partition
