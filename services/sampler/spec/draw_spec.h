// How a node's in-edges are drawn: every option of a draw, once. The document, a run's mini-batches, a hop's questions
// and the questions of programs all have a DrawSpec.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "services/sampler/spec/spelling.h"

namespace espalier::sampler {

enum class DrawMethod : uint8_t {
  kNeighbor = 0,  // every node on its own, uniformly or by weight
  // LABOR-0 (Balin and Catalyurek, NeurIPS 2023, arXiv 2210.13339) as sequential Poisson sampling (its appendix A.3):
  // every source has one variate, and a node takes the in-edges whose sources have the smallest. With equal weights and
  // no parallel edges, one node's draw is distributed as kNeighbor's without replacement (unequal weights: only about);
  // nodes with common neighbours agree on them, so a batch has fewer.
  kLabor = 1,
  kLast = 2,  // the last of the stored order, which is the latest of a graph with a time column; nothing is random
};

template <>
struct Spelling<DrawMethod> {
  static constexpr std::pair<DrawMethod, const char*> kNames[] = {
      {DrawMethod::kNeighbor, "Neighbor"}, {DrawMethod::kLabor, "Labor"}, {DrawMethod::kLast, "Last"}};
};

// Which nodes a hop of a mini-batch expands. (A single hop expands the nodes that it is given.)
enum class Expand : uint8_t {
  kAlways = 0,  // every node met so far, with draws of its own in each hop
  // Those that no earlier hop has expanded, as PyG's NeighborLoader. Each layer has the in-edges that were drawn for
  // the rows that it writes, in whichever hop that was.
  kOnce = 1,
};

template <>
struct Spelling<Expand> {
  static constexpr std::pair<Expand, const char*> kNames[] = {{Expand::kAlways, "Always"}, {Expand::kOnce, "Once"}};
};

struct DrawSpec {
  DrawMethod method = DrawMethod::kNeighbor;
  bool layer_dependency = false;  // kLabor: a source has one variate in all hops of a batch, whatever HopPosition::hop
  bool replace = false;
  // Edge column with non-negative weights (F32/F64/integers); empty: uniform. Edges of weight 0 are never drawn, so a
  // column of 0 and 1 is a mask.
  std::string weight_column = {};
  // Edge column of integers that orders in-edges (docs/partition-format.md): no in-edge is drawn that is later than the
  // time of its destination. A relation without the column has edges of all times. Empty: time does not matter.
  std::string time_column = {};
  Expand expand = Expand::kAlways;

  friend bool operator==(const DrawSpec&, const DrawSpec&) = default;
};

// What an option is called in spec.training.sampling of the document, and its meaning there.
struct OptionText {
  const char* name;
  const char* meaning;
};

// Calls visit(OptionText, option) for each option that the document has, in its order. (The time column is the
// graph's.) Whatever documents, reads, compares or records the options of a job goes through this list.
template <class Spec, class Visit>
void VisitOptions(Spec& draw, const Visit& visit) {
  visit(OptionText{"replace", "sample with replacement"}, draw.replace);
  visit(
      OptionText{"weight",
                 "edge column with sampling weights, or a mask of 0 and 1; by default sampling is uniform; full "
                 "neighborhoods (`evaluation.neighborhood: Full`, embeddings, predictions) include in-edges of weight "
                 "0"},
      draw.weight_column);
  visit(
      OptionText{"method",
                 "sampler; Neighbor samples independently for each node, Labor shares random numbers between nodes so "
                 "that a mini-batch has fewer distinct nodes, Last takes the latest in-edges by `graph.timeColumn`"},
      draw.method);
  visit(OptionText{"layerDependency", "Labor: share the random numbers between layers too"}, draw.layer_dependency);
  visit(OptionText{"expand",
                   "nodes whose neighbors a hop samples; Always: all nodes of the mini-batch so far, anew in each hop; "
                   "Once: nodes that no earlier hop has sampled for; they keep their neighbors in every layer"},
        draw.expand);
}

}  // namespace espalier::sampler
