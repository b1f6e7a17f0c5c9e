// Binds DistGraph: description, rows, sampling of one hop, walks, splits and functions of server plugins.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/rows.h"
#include "python/bindings/waits.h"
#include "services/client/graph/dist_graph.h"
#include "services/client/splits/edge_split.h"
#include "services/client/splits/node_split.h"
#include "services/graph/out_degree_column.h"
#include "services/messages/wire_ids.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace espalier::python {
namespace {

using client::DistGraph;
using Seconds = std::optional<double>;
using GraphPointer = std::shared_ptr<DistGraph>;

GraphPointer OpenGraph(const std::map<std::string, std::string>& environment) {
  client::Context context = ValueOrThrow(client::Initialize(environment));
  const auto stop = std::make_shared<std::stop_source>();  // requested only during this call
  context.session.channel.stop = stop->get_token();
  std::optional<Result<std::unique_ptr<DistGraph>>> opened;
  RunInterruptibly([&](std::stop_token interrupted) {
    const std::stop_callback on_interrupt(std::move(interrupted), [&] { stop->request_stop(); });
    opened.emplace(DistGraph::Open(context));
  });
  return ValueOrThrow(*std::move(opened));
}

NodeTypeId NodeType(const DistGraph& graph, uint32_t type) {
  const NodeTypeId id = ValueOrThrow(messages::DecodeNodeType(type));
  ThrowIfError(graph.schema().CheckNodeType(id));
  return id;
}
EdgeTypeId EdgeType(const DistGraph& graph, uint32_t type) {
  const EdgeTypeId id = ValueOrThrow(messages::DecodeEdgeType(type));
  ThrowIfError(graph.schema().CheckEdgeType(id));
  return id;
}

client::SplitBy ToSplitBy(bool local) { return local ? client::SplitBy::kLocality : client::SplitBy::kEven; }

// (type, name, numpy dtype, row shape)
using Column = std::tuple<uint32_t, std::string, std::string, std::vector<int64_t>>;
// (type, name, numbers of training, validation and test nodes or edges)
using SplitSizes = std::tuple<uint32_t, std::string, uint64_t, uint64_t, uint64_t>;

std::vector<Column> NodeColumns(const DistGraph& graph) {
  std::vector<Column> columns;
  for (const auto& column : graph.node_columns()) {
    columns.emplace_back(column.node_type.value, column.name, NumpyName(column.value_dtype()), column.row_shape);
  }
  return columns;
}
std::vector<Column> EdgeColumns(const DistGraph& graph) {
  std::vector<Column> columns;
  for (const auto& column : graph.edge_columns()) {
    columns.emplace_back(column.edge_type.value, column.name, NumpyName(column.dtype), column.row_shape);
  }
  return columns;
}

std::vector<std::tuple<std::string, std::string, std::string>> EdgeTypes(const DistGraph& graph) {
  std::vector<std::tuple<std::string, std::string, std::string>> types;
  for (const graph::CanonicalEdgeType& type : graph.schema().edge_types()) {
    types.emplace_back(type.source, type.relation, type.destination);
  }
  return types;
}

client::NodesByType ToNodesByType(const DistGraph& graph, const std::map<uint32_t, IdArray>& nodes) {
  client::NodesByType by_type;
  for (const auto& [type, ids] : nodes) by_type[NodeType(graph, type)] = VectorOf<GlobalNodeId>(ids);
  return by_type;
}

client::DrawOptions MakeDrawOptions(uint64_t seed, uint32_t hop, bool replace, const std::string& weight,
                                    const std::string& method) {
  client::DrawOptions options;
  options.seed = seed;
  options.at.hop = hop;
  options.draw.replace = replace;
  options.draw.weight_column = weight;
  options.want_edge_ids = true;
  options.draw.method = ParseMethod(method);
  return options;
}

// Returns a list of (edge type, destinations, offsets, sources, edge ids), one for each relation.
nb::list ToPython(client::Frontier frontier) {
  nb::list relations;
  for (client::FrontierRelation& relation : frontier.relations) {
    relations.append(nb::make_tuple(relation.edge_type.value, TakeIds(std::move(relation.destinations)),
                                    TakeIds(std::move(relation.offsets)), TakeIds(std::move(relation.sources)),
                                    TakeIds(std::move(relation.edge_ids))));
  }
  return relations;
}

// Returns (sources, destinations, edge ids, rows by column, number of edges of the rank with the most edges).
nb::tuple ToPython(client::EdgeShare share) {
  nb::dict rows;
  for (const auto& [name, tensor] : share.edges.rows) rows[name.c_str()] = ToNumpy(tensor);
  return nb::make_tuple(TakeIds(std::move(share.edges.sources)), TakeIds(std::move(share.edges.destinations)),
                        TakeIds(std::move(share.edges.ids)), rows, share.largest);
}

// Returns the partition of each id. Throws InvalidArgument for an id that is not below `limit`.
template <class OfType, class Id>
nb::object FindOwners(const DistGraph& graph, OfType type, const IdArray& ids, uint64_t limit) {
  std::vector<int64_t> owners;
  owners.reserve(ids.size());
  for (const Id& id : SpanOf<Id>(ids)) {
    if (id.value >= limit) {
      throw StatusError(
          InvalidArgument("id " + std::to_string(id.value) + " is out of range [0, " + std::to_string(limit) + ")"));
    }
    owners.push_back(graph.book().OwnerOf(type, id).value);
  }
  return Take(std::move(owners), nb::dtype<int64_t>());
}

nb::object GatherNodeRows(const DistGraph& graph, uint32_t type, const std::string& column, const IdArray& ids,
                          Seconds timeout) {
  const NodeTypeId node_type = NodeType(graph, type);
  const auto nodes = SpanOf<GlobalNodeId>(ids);
  return ShareWithNumpy(CallInterruptibly(timeout, graph.CallDeadline(), [&](Deadline deadline) {
    return graph.GatherNodeRows(node_type, column, nodes, deadline);
  }));
}
nb::object GatherEdgeRows(const DistGraph& graph, uint32_t type, const std::string& column, const IdArray& ids,
                          Seconds timeout) {
  const EdgeTypeId edge_type = EdgeType(graph, type);
  const auto edges = SpanOf<GlobalEdgeId>(ids);
  return ToNumpy(CallInterruptibly(timeout, graph.CallDeadline(), [&](Deadline deadline) {
    return graph.GatherEdgeRows(edge_type, column, edges, deadline);
  }));
}

nb::list SampleNeighbors(const DistGraph& graph, const std::map<uint32_t, IdArray>& seeds,
                         const std::map<uint32_t, int32_t>& fanouts, uint64_t seed, uint32_t hop, bool replace,
                         const std::string& weight, const std::string& method, Seconds timeout) {
  const client::NodesByType nodes = ToNodesByType(graph, seeds);
  client::Fanouts by_type;
  for (const auto& [type, fanout] : fanouts) by_type[EdgeType(graph, type)] = fanout;
  const client::DrawOptions options = MakeDrawOptions(seed, hop, replace, weight, method);
  return ToPython(CallInterruptibly(timeout, graph.CallDeadline(), [&](Deadline deadline) {
    return graph.SampleNeighbors(nodes, by_type, options, deadline);
  }));
}

nb::list InSubgraph(const DistGraph& graph, const std::map<uint32_t, IdArray>& nodes, Seconds timeout) {
  const client::NodesByType by_type = ToNodesByType(graph, nodes);
  return ToPython(CallInterruptibly(timeout, graph.CallDeadline(),
                                    [&](Deadline deadline) { return graph.InSubgraph(by_type, deadline); }));
}

// Returns (nodes by type, [(edge type, edge ids, sources, destinations)]). Sources and destinations are positions among
// the returned nodes of their types.
nb::tuple EdgeSubgraph(const DistGraph& graph, const std::map<uint32_t, IdArray>& edges, Seconds timeout) {
  client::EdgesByType by_type;
  for (const auto& [type, ids] : edges) by_type[EdgeType(graph, type)] = VectorOf<GlobalEdgeId>(ids);
  client::Subgraph subgraph = CallInterruptibly(
      timeout, graph.CallDeadline(), [&](Deadline deadline) { return graph.EdgeSubgraph(by_type, deadline); });
  nb::list nodes, relations;
  for (std::vector<GlobalNodeId>& of_type : subgraph.nodes) nodes.append(TakeIds(std::move(of_type)));
  for (client::SubgraphRelation& relation : subgraph.relations) {
    relations.append(nb::make_tuple(relation.edge_type.value, TakeIds(std::move(relation.edge_ids)),
                                    TakeRows(std::move(relation.sources)), TakeRows(std::move(relation.destinations))));
  }
  return nb::make_tuple(nodes, relations);
}

nb::object RandomWalk(const DistGraph& graph, const IdArray& starts, const std::vector<uint32_t>& metapath,
                      uint32_t walks_per_node, const std::vector<double>& restart_probabilities,
                      const std::string& weight, uint64_t seed, Seconds timeout) {
  sampler::WalkOptions options{.walks_per_node = walks_per_node,
                               .restart_probabilities = restart_probabilities,
                               .weight_column = weight,
                               .seed = seed};
  for (const uint32_t type : metapath) options.metapath.push_back(EdgeType(graph, type));
  const auto nodes = VectorOf<GlobalNodeId>(starts);
  sampler::RandomWalks walks = CallInterruptibly(
      timeout, graph.CallDeadline(), [&](Deadline deadline) { return graph.RandomWalk(nodes, options, deadline); });
  // As int64, kNoNode is -1, the value that DGL also writes after the end of a walk.
  return Take(std::move(walks.nodes), nb::dtype<int64_t>(), {walks.num_walks, walks.length + 1});
}

nb::tuple PinSageNeighbors(const DistGraph& graph, const IdArray& seeds, const std::vector<uint32_t>& metapath,
                           uint32_t num_traversals, double termination_probability, uint32_t num_random_walks,
                           uint32_t num_neighbors, const std::string& weight, uint64_t seed, Seconds timeout) {
  sampler::PinSageOptions options{.num_traversals = num_traversals,
                                  .termination_probability = termination_probability,
                                  .num_random_walks = num_random_walks,
                                  .num_neighbors = num_neighbors,
                                  .weight_column = weight,
                                  .seed = seed};
  for (const uint32_t type : metapath) options.metapath.push_back(EdgeType(graph, type));
  const auto nodes = VectorOf<GlobalNodeId>(seeds);
  sampler::PinSageNeighbors found = CallInterruptibly(timeout, graph.CallDeadline(), [&](Deadline deadline) {
    return graph.PinSageNeighbors(nodes, options, deadline);
  });
  return nb::make_tuple(TakeIds(std::move(found.offsets)), TakeIds(std::move(found.neighbors)),
                        TakeRows(std::move(found.visits)));
}

// Returns the responses. `partition`: the one to call; nullopt: all of them.
nb::list CallFunction(const DistGraph& graph, std::optional<uint32_t> partition, const std::string& function,
                      const nb::bytes& request, bool changes_tensors, Seconds timeout) {
  const std::string text(request.c_str(), request.size());
  const auto effect = changes_tensors ? client::TensorEffect::kChanges : client::TensorEffect::kNone;
  const std::vector<std::string> responses =
      CallInterruptibly(timeout, graph.CallDeadline(), [&](Deadline deadline) -> Result<std::vector<std::string>> {
        if (!partition) return graph.CallFunctionEverywhere(function, text, effect, deadline);
        if (*partition >= graph.book().num_partitions()) {
          return InvalidArgument("partition " + std::to_string(*partition) + " does not exist; there are " +
                                 std::to_string(graph.book().num_partitions()));
        }
        ASSIGN_OR_RETURN(std::string response,
                         graph.CallFunction(PartitionId(*partition), function, text, effect, deadline));
        return std::vector<std::string>{std::move(response)};
      });
  nb::list list;
  for (const std::string& response : responses) list.append(nb::bytes(response.data(), response.size()));
  return list;
}

void BindDescription(nb::class_<DistGraph>& graph) {
  graph.def_prop_ro("name", &DistGraph::name)
      .def_prop_ro("rank", [](const DistGraph& g) { return g.rank().value; })
      .def_prop_ro("world_size", &DistGraph::world_size)
      .def_prop_ro("num_partitions", [](const DistGraph& g) { return g.book().num_partitions(); })
      .def_prop_ro("node_types", [](const DistGraph& g) { return g.schema().node_types(); })
      .def_prop_ro("edge_types", &EdgeTypes)
      .def_prop_ro("node_columns", &NodeColumns)
      .def_prop_ro("edge_columns", &EdgeColumns)
      .def_prop_ro("node_splits",
                   [](const DistGraph& g) {
                     std::vector<SplitSizes> splits;
                     for (const auto& split : g.node_splits()) {
                       splits.emplace_back(split.node_type.value, split.split, split.train, split.validation,
                                           split.test);
                     }
                     return splits;
                   })
      .def_prop_ro("edge_splits",
                   [](const DistGraph& g) {
                     std::vector<SplitSizes> splits;
                     for (const auto& split : g.edge_splits()) {
                       splits.emplace_back(split.edge_type.value, split.split, split.train, split.validation,
                                           split.test);
                     }
                     return splits;
                   })
      .def("num_nodes", [](const DistGraph& g, uint32_t type) { return g.num_nodes(NodeType(g, type)); })
      .def("num_edges", [](const DistGraph& g, uint32_t type) { return g.num_edges(EdgeType(g, type)); })
      .def("node_first",
           [](const DistGraph& g, uint32_t type) {
             const auto first = g.book().NodeFirst(NodeType(g, type));
             return TakeIds(std::vector<uint64_t>(first.begin(), first.end()));
           })
      .def("edge_first",
           [](const DistGraph& g, uint32_t type) {
             const auto first = g.book().EdgeFirst(EdgeType(g, type));
             return TakeIds(std::vector<uint64_t>(first.begin(), first.end()));
           })
      .def("node_owners",
           [](const DistGraph& g, uint32_t type, const IdArray& ids) {
             const NodeTypeId node_type = NodeType(g, type);
             return FindOwners<NodeTypeId, GlobalNodeId>(g, node_type, ids, g.num_nodes(node_type));
           })
      .def("edge_owners",
           [](const DistGraph& g, uint32_t type, const IdArray& ids) {
             const EdgeTypeId edge_type = EdgeType(g, type);
             return FindOwners<EdgeTypeId, GlobalEdgeId>(g, edge_type, ids, g.num_edges(edge_type));
           })
      .def("out_degree_column", [](const DistGraph& g, uint32_t type) {
        return graph::OutDegreeColumnName(g.schema().EdgeType(EdgeType(g, type)));
      });
}

void BindQueries(nb::class_<DistGraph>& graph) {
  graph.def("node_rows", &GatherNodeRows)
      .def("edge_rows", &GatherEdgeRows)
      .def("to_global_ids",
           [](const DistGraph& g, uint32_t type, const IdArray& ids, Seconds timeout) {
             const NodeTypeId node_type = NodeType(g, type);
             const auto originals = SpanOf<OriginalNodeId>(ids);
             return TakeIds(CallInterruptibly(timeout, g.CallDeadline(), [&](Deadline deadline) {
               return g.ToGlobalIds(node_type, originals, deadline);
             }));
           })
      .def("split_nodes",
           [](const DistGraph& g, uint32_t type, const std::string& split, const std::string& part, Seconds timeout) {
             const NodeTypeId node_type = NodeType(g, type);
             const graph::SplitPartName which = ParsePart(part);
             return TakeIds(CallInterruptibly(timeout, g.CallDeadline(), [&](Deadline deadline) {
               return g.SplitNodes(node_type, split, which, deadline);
             }));
           })
      .def("split_edges",
           [](const DistGraph& g, uint32_t type, const std::string& split, const std::string& part) {
             const EdgeTypeId edge_type = EdgeType(g, type);
             const graph::SplitPartName which = ParsePart(part);
             client::EdgeList list = CallWithStop(
                 g, [&](const DistGraph& handle) { return client::ReadSplitEdges(handle, edge_type, split, which); });
             return nb::make_tuple(TakeIds(std::move(list.sources)), TakeIds(std::move(list.destinations)));
           })
      .def("find_edges",
           [](const DistGraph& g, uint32_t type, const IdArray& ids, Seconds timeout) {
             const EdgeTypeId edge_type = EdgeType(g, type);
             const auto edges = SpanOf<GlobalEdgeId>(ids);
             return ToNumpy(CallInterruptibly(timeout, g.CallDeadline(), [&](Deadline deadline) {
               return g.FindEdges(edge_type, edges, deadline);
             }));
           })
      .def("in_degrees",
           [](const DistGraph& g, uint32_t type, const IdArray& ids, Seconds timeout) {
             const EdgeTypeId edge_type = EdgeType(g, type);
             const auto nodes = SpanOf<GlobalNodeId>(ids);
             return ToNumpy(CallInterruptibly(timeout, g.CallDeadline(), [&](Deadline deadline) {
               return g.InDegrees(edge_type, nodes, deadline);
             }));
           })
      .def("sample_neighbors", &SampleNeighbors)
      .def("in_subgraph", &InSubgraph)
      .def("edge_subgraph", &EdgeSubgraph)
      .def("random_walk", &RandomWalk)
      .def("pinsage_neighbors", &PinSageNeighbors)
      .def("call_function", &CallFunction, "partition"_a.none(), "function"_a, "request"_a, "changes_tensors"_a,
           "timeout"_a.none());
}

void BindSplits(nb::class_<DistGraph>& graph) {
  // The functions for nodes return (the nodes of this rank, the number of nodes of the rank with the most nodes).
  graph
      .def("node_split_of_part",
           [](const DistGraph& g, uint32_t type, const std::string& split, const std::string& part, bool local) {
             const NodeTypeId node_type = NodeType(g, type);
             const graph::SplitPartName which = ParsePart(part);
             client::NodeShare share = CallWithStop(g, [&](const DistGraph& handle) {
               return client::NodeSplit(handle, node_type, split, which, {.by = ToSplitBy(local)});
             });
             return nb::make_tuple(TakeIds(std::move(share.nodes)), share.largest);
           })
      .def("node_split_of_ids",
           [](const DistGraph& g, uint32_t type, const IdArray& ids, bool local) {
             const NodeTypeId node_type = NodeType(g, type);
             client::NodeShare share =
                 ValueOrThrow(client::NodeSplit(g, node_type, SpanOf<GlobalNodeId>(ids), {.by = ToSplitBy(local)}));
             return nb::make_tuple(TakeIds(std::move(share.nodes)), share.largest);
           })
      .def("node_split_of_mask",
           [](const DistGraph& g, const client::DistTensor& mask, bool local) {
             client::NodeShare share = CallWithStop(
                 g, [&](const DistGraph& handle) { return client::NodeSplit(handle, mask, {.by = ToSplitBy(local)}); });
             return nb::make_tuple(TakeIds(std::move(share.nodes)), share.largest);
           })
      .def("edge_split_of_part",
           [](const DistGraph& g, uint32_t type, const std::string& split, const std::string& part, bool local,
              const std::vector<std::string>& columns, bool want_ids) {
             const EdgeTypeId edge_type = EdgeType(g, type);
             const graph::SplitPartName which = ParsePart(part);
             return ToPython(CallWithStop(g, [&](const DistGraph& handle) {
               return client::EdgeSplit(handle, edge_type, split, which,
                                        {.by = ToSplitBy(local), .columns = columns, .want_ids = want_ids});
             }));
           })
      .def("edge_split_of_ids",
           [](const DistGraph& g, uint32_t type, const IdArray& ids, bool local) {
             const EdgeTypeId edge_type = EdgeType(g, type);
             const auto edges = SpanOf<GlobalEdgeId>(ids);
             return ToPython(CallWithStop(g, [&](const DistGraph& handle) {
               return client::EdgeSplit(handle, edge_type, edges, {.by = ToSplitBy(local)});
             }));
           })
      .def("edge_split_of_mask", [](const DistGraph& g, const client::DistTensor& mask, bool local) {
        return ToPython(CallWithStop(
            g, [&](const DistGraph& handle) { return client::EdgeSplit(handle, mask, {.by = ToSplitBy(local)}); }));
      });
}

}  // namespace

void BindGraph(nb::module_& m) {
  nb::class_<DistGraph> graph(m, "DistGraph");
  BindDescription(graph);
  BindQueries(graph);
  BindSplits(graph);
  m.def("open", &OpenGraph, "environment"_a);
}

}  // namespace espalier::python
