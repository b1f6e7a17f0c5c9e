// How a node's in-edges are drawn: the single list of all options of a draw, used by the job document, mini-batches,
// hop requests and programs' own requests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "services/sampler/spec/spelling.h"

namespace espalier::sampler {

enum class DrawMethod : uint8_t {
  kNeighbor = 0,  // each node independently, uniformly or by weight
  // LABOR-0 (Balin and Catalyurek, NeurIPS 2023, arXiv 2210.13339) as sequential Poisson sampling (appendix A.3 there):
  // every source has one variate, and a node takes the in-edges whose sources have the smallest variates. With equal
  // weights and no parallel edges, one node's draw has the distribution of kNeighbor without replacement (with unequal
  // weights, only approximately); nodes with common neighbors tend to draw the same ones, so a batch has fewer nodes.
  kLabor = 1,
  kLast = 2,  // the last in-edges in stored order, which are the latest if there is a time column; not random
};

template <>
struct Spelling<DrawMethod> {
  static constexpr std::pair<DrawMethod, const char*> kNames[] = {
      {DrawMethod::kNeighbor, "Neighbor"}, {DrawMethod::kLabor, "Labor"}, {DrawMethod::kLast, "Last"}};
};

// Which nodes a hop of a mini-batch expands. (A request for a single hop expands the nodes in the request.)
enum class Expand : uint8_t {
  kAlways = 0,  // every node reached so far, with separate draws in each hop
  // Only nodes that no earlier hop has expanded, as in PyG's NeighborLoader. The blocks of a hop also have the in-edges
  // that earlier hops have drawn for the same destination nodes.
  kOnce = 1,
};

template <>
struct Spelling<Expand> {
  static constexpr std::pair<Expand, const char*> kNames[] = {{Expand::kAlways, "Always"}, {Expand::kOnce, "Once"}};
};

struct DrawSpec {
  DrawMethod method = DrawMethod::kNeighbor;
  bool layer_dependency = false;  // kLabor: a source has the same variate in all hops of a batch
  bool replace = false;
  // Edge column with non-negative weights (F32, F64, integers or BOOL); empty: uniform. Edges of weight 0 are never
  // drawn, so a column of 0 and 1 is a mask.
  std::string weight_column = {};
  // Edge column of integer timestamps that orders in-edges (docs/partition-format.md). No in-edge is drawn whose
  // timestamp is later than the time for which its destination is sampled; in a mini-batch, this is the time of the
  // seed. In a relation without the column, all edges may be drawn. Empty: sampling ignores time.
  std::string time_column = {};
  Expand expand = Expand::kAlways;

  friend bool operator==(const DrawSpec&, const DrawSpec&) = default;
};

// The name and the description of an option in spec.training.sampling of the job document.
struct OptionText {
  const char* name;
  const char* meaning;
};

// Calls visit(OptionText, member) for each option of the job document, in its order; `member` points to a member of
// DrawSpec. (The time column is not one of them: the document has it in spec.graph.) All code that documents, reads,
// compares or records the options of a job uses this list.
template <class Visit>
void VisitOptionMembers(const Visit& visit) {
  visit(OptionText{"replace", "sample with replacement"}, &DrawSpec::replace);
  visit(
      OptionText{"weight",
                 "edge column with sampling weights, or a mask of 0 and 1; by default sampling is uniform; full "
                 "neighborhoods (`evaluation.neighborhood: Full`, embeddings, predictions) include in-edges of weight "
                 "0"},
      &DrawSpec::weight_column);
  visit(OptionText{"method",
                   "sampling method; Neighbor samples independently for each node, Labor shares random numbers between "
                   "nodes so that a mini-batch has fewer distinct nodes, Last takes the in-edges with the latest "
                   "timestamps in `graph.timeColumn`"},
        &DrawSpec::method);
  visit(OptionText{"layerDependency", "Labor: share the random numbers between layers too"},
        &DrawSpec::layer_dependency);
  visit(
      OptionText{"expand",
                 "nodes whose neighbors a hop samples; Always: all nodes of the mini-batch so far, again in each hop; "
                 "Once: nodes whose neighbors no earlier hop has sampled; every layer uses this one sample of a node"},
      &DrawSpec::expand);
}

// Calls visit(OptionText, option) for each option of `draw`, in the same order.
template <class Spec, class Visit>
void VisitOptions(Spec& draw, const Visit& visit) {
  VisitOptionMembers([&](const OptionText& text, auto member) { visit(text, draw.*member); });
}

}  // namespace espalier::sampler
