// The rank of a node is its number in the order of falling expected out-degree. With K classes, a node of rank r has
// class r mod K. To draw a source of class k, the generator draws a number j from a power law and takes the rank
// j * K + k.
#include <array>
#include <cmath>

#include "services/base/parallel.h"
#include "services/base/philox.h"
#include "services/graph/generated_nodes.h"
#include "services/graph/generators.h"
#include "services/graph/rank_sampler.h"

namespace espalier::graph {
namespace {

constexpr int64_t kRelationGrain = 1 << 16;
constexpr uint64_t kBytesOfTypedEdge = 2 * sizeof(uint32_t);
constexpr int64_t kMaxClasses = 8;
constexpr std::array<const char*, kMaxClasses> kPaperRelations = {"cites",   "dislikes", "extends",  "refutes",
                                                                  "reviews", "surveys",  "compares", "mentions"};
constexpr std::array<const char*, kMaxClasses> kAuthorRelations = {"writes", "rejects",    "edits",    "funds",
                                                                   "reads",  "translates", "presents", "indexes"};

Status CheckOptions(const TypedOptions& options) {
  if (options.num_classes < 2 || options.num_classes > kMaxClasses) {
    return InvalidArgument("the number of classes is " + std::to_string(options.num_classes) + ": expected 2 to 8");
  }
  RETURN_IF_ERROR(CheckNodeCount("the number of papers", options.num_papers));
  RETURN_IF_ERROR(CheckNodeCount("the number of authors", options.num_authors));
  // With two papers of every class, a self loop can always be avoided.
  const uint64_t needed = 2 * static_cast<uint64_t>(options.num_classes);
  if (options.num_papers < needed || options.num_authors < needed) {
    return InvalidArgument("there are " + std::to_string(options.num_papers) + " papers and " +
                           std::to_string(options.num_authors) + " authors: expected at least " +
                           std::to_string(needed) + " of each, twice the number of classes");
  }
  if (!(options.edges_per_relation >= 0 && options.edges_per_relation <= 1e6)) {
    return InvalidArgument("the average number of edges per relation and paper is " +
                           std::to_string(options.edges_per_relation) + ": expected 0 to 1e6");
  }
  RETURN_IF_ERROR(CheckExponent("the exponent of out-degrees", options.out_degree_exponent));
  RETURN_IF_ERROR(CheckFraction("the fidelity", options.fidelity));
  RETURN_IF_ERROR(CheckFraction("the label noise", options.label_noise));
  RETURN_IF_ERROR(CheckFeatureOptions(options.features));
  return CheckSplitFractions(options.split);
}

struct Relation {
  std::string source_type;
  uint64_t shift;   // a source whose class is not random has its destination's class plus this shift, modulo K
  uint64_t stream;  // `type` of GeneratorKey
};

// The IDs of papers and of authors, by rank.
struct ShuffledTypes {
  std::vector<uint32_t> papers;
  std::vector<uint32_t> authors;
};

// Returns the number of edges of each relation.
uint64_t CountEdgesPerRelation(const TypedOptions& options) {
  return static_cast<uint64_t>(options.edges_per_relation * static_cast<double>(options.num_papers));
}

EdgeSet DrawEdges(const TypedOptions& options, const Relation& relation, const ShuffledTypes& ids, int threads,
                  WorkMeter* meter) {
  const bool from_papers = relation.source_type == "paper";
  const std::vector<uint32_t>& source_ids = from_papers ? ids.papers : ids.authors;
  const auto num_classes = static_cast<uint64_t>(options.num_classes);
  const auto m = static_cast<int64_t>(CountEdgesPerRelation(options));
  EdgeSet edges{.sources = Tensor::Zeros(DType::kU32, {m}), .destinations = Tensor::Zeros(DType::kU32, {m})};
  const auto sources = edges.sources.mutable_values<uint32_t>();
  const auto destinations = edges.destinations.mutable_values<uint32_t>();
  const RankSampler j_sampler(source_ids.size() / num_classes, options.out_degree_exponent, 0);
  const uint64_t key = GeneratorKey(options.seed, GeneratorStream::kEdges, relation.stream);
  ParallelFor(threads, m, kRelationGrain, [&](int64_t begin, int64_t end) {
    for (auto e = static_cast<size_t>(begin); e < static_cast<size_t>(end); ++e) {
      PhiloxStream random(key, e);
      const uint64_t destination = random.NextBelow(static_cast<uint32_t>(ids.papers.size()));
      const bool is_faithful = random.NextUnitDouble() < options.fidelity;
      const uint64_t any_class = random.NextBelow(static_cast<uint32_t>(num_classes));
      const uint64_t source_class = is_faithful ? (destination + relation.shift) % num_classes : any_class;
      const uint64_t j = j_sampler.At(random.NextUnitDouble());
      uint64_t source = j * num_classes + source_class;
      // Avoids a self loop by taking the previous rank of the same class, or the next one if there is no previous one.
      if (from_papers && source == destination) source += j == 0 ? num_classes : uint64_t{0} - num_classes;
      sources[e] = source_ids[source];
      destinations[e] = ids.papers[destination];
    }
    AddDone(meter, static_cast<uint64_t>(end - begin) * kBytesOfTypedEdge);
  });
  return edges;
}

NodeSet MakeNodes(const TypedOptions& options, const std::vector<uint32_t>& ids, uint64_t type, int threads,
                  WorkMeter* meter) {
  const auto num_classes = static_cast<uint64_t>(options.num_classes);
  const NodeClasses classes{
      .ids = ids, .class_of_rank = [=](uint64_t rank) { return rank % num_classes; }, .type = type};
  NodeSet nodes{.count = ids.size()};
  if (options.features.width > 0) {
    nodes.columns[kFeatureColumn] = GenerateFeatures(classes, options.features, options.seed, threads, meter);
  }
  if (type == 0) {
    nodes.columns[kLabelColumn] =
        GenerateLabels(classes, options.num_classes, options.label_noise, options.seed, threads);
  }
  return nodes;
}

}  // namespace

Result<SourceGraph> GenerateTypedGraph(const TypedOptions& options, int threads, WorkMeter* meter) {
  RETURN_IF_ERROR(CheckOptions(options).While("generating '" + options.name + "'"));
  // Values for `type` of GeneratorKey, not NodeTypeIds.
  constexpr uint64_t kPapers = 0, kAuthors = 1;
  const auto num_relations = static_cast<size_t>(options.num_classes);
  std::vector<CanonicalEdgeType> edge_types;
  for (size_t r = 0; r < num_relations; ++r) {
    edge_types.push_back({"paper", kPaperRelations[r], "paper"});
    edge_types.push_back({"author", kAuthorRelations[r], "paper"});
  }
  SourceGraph graph;
  graph.name = options.name;
  ASSIGN_OR_RETURN(graph.schema, GraphSchema::Make({"author", "paper"}, std::move(edge_types)));

  const ShuffledTypes ids{.papers = ShuffleNodeIds(GeneratorKey(options.seed, GeneratorStream::kNodeOrder, kPapers),
                                                   options.num_papers, threads),
                          .authors = ShuffleNodeIds(GeneratorKey(options.seed, GeneratorStream::kNodeOrder, kAuthors),
                                                    options.num_authors, threads)};
  graph.edges.resize(graph.schema.num_edge_types());
  AddExpected(meter, graph.schema.num_edge_types() * CountEdgesPerRelation(options) * kBytesOfTypedEdge +
                         ComputeFeatureBytes(options.num_papers + options.num_authors, options.features));
  for (size_t r = 0; r < num_relations; ++r) {
    for (const bool from_papers : {true, false}) {
      const Relation relation{from_papers ? "paper" : "author", r, 2 * r + (from_papers ? 0 : 1)};
      const char* name = from_papers ? kPaperRelations[r] : kAuthorRelations[r];
      ASSIGN_OR_RETURN(const EdgeTypeId type, graph.schema.FindEdgeType(name));
      graph.edges[type.value] = DrawEdges(options, relation, ids, threads, meter);
    }
  }
  ASSIGN_OR_RETURN(const NodeTypeId paper, graph.schema.FindNodeType("paper"));
  ASSIGN_OR_RETURN(const NodeTypeId author, graph.schema.FindNodeType("author"));
  graph.nodes.resize(2);
  graph.nodes[paper.value] = MakeNodes(options, ids.papers, kPapers, threads, meter);
  graph.nodes[author.value] = MakeNodes(options, ids.authors, kAuthors, threads, meter);
  graph.splits[kRandomSplit][paper.value] =
      GenerateSplit(options.num_papers, options.split, options.seed, kPapers, threads);
  return graph;
}

}  // namespace espalier::graph
