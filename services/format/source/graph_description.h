// graph.yaml describes the .npy files of a folder as a graph. An example with all fields:
//
//   version: 1
//   name: citations
//   nodes:
//     - type: paper
//       count: 2708                     # optional if there are columns
//       columns:                        # features, labels, anything: an array [count, ...] each
//         node-feat: paper-feat.npy
//         node-label: {file: paper-label.npy}
//         embedding: {file: paper-embedding.npy, dtype: BF16}   # BF16 is '<u2' in the file
//         year: {file: paper.npz, member: year}                 # an array of a .npz file
//     - {type: author, count: 17}
//   edges:
//     - type: [paper, cites, paper]     # or paper:cites:paper
//       ids: cites.npy                  # integers [2, m]: sources, then destinations
//       columns: {weight: cites-weight.npy}
//     - type: [author, writes, paper]
//       sources: writes-src.npy         # or two arrays [m] of one dtype
//       destinations: writes-dst.npy
//       original_ids: writes-ids.npy    # uint64 [m], if preprocessing removed or added edges; absent: 0 to m - 1
//     - {type: [author, knows, author], count: 0}   # without edges, needs no files; otherwise `count` is optional
//   splits:
//     - name: public
//       type: paper                     # optional if there is one node type
//       train: train.npy                # integers: node ids in any order; bool [count]: a mask
//       validation: validation.npy
//       test: test.npy                  # each part is optional
//     - name: links
//       edge_type: [paper, cites, paper]  # a split of edges
//       train: train-edges.npy
//       validation: validation-edges.npy
//       test: test-edges.npy
//
// A part of a split of edges is one of these arrays:
//   integers [2, k]: sources, then destinations, of pairs that need not be in the edge list
//   integers [3, k]: sources, destinations and original edge ids (row numbers if there are no original_ids)
//   integers [k]: row numbers in the edge list
//   bool [m]: a mask of the edge list
// Files are named relative to the folder of graph.yaml, and must be below it. All ids and row numbers except
// original_ids are int32, int64, uint32 or uint64.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/dtype.h"
#include "services/graph/schema.h"

namespace espalier::format {

inline constexpr char kDescriptionFile[] = "graph.yaml";
inline constexpr int kDescriptionVersion = 1;

struct ArrayFile {
  std::string file;            // relative to the folder
  std::string member;          // for a .npz file: the name of the array, without ".npy"
  std::optional<DType> dtype;  // nullopt: the dtype of the file
  int line = 0;                // in graph.yaml, for messages
};

struct NodeDescription {
  std::string type;
  std::optional<uint64_t> count;  // nullopt: the number of rows of the columns
  std::map<std::string, ArrayFile> columns;
  int line = 0;
};

struct EdgeDescription {
  graph::CanonicalEdgeType type;
  std::optional<uint64_t> count;  // number of edges; must be 0 if there are neither `ids` nor `sources`
  std::optional<ArrayFile> ids;   // either this, or both `sources` and `destinations`
  std::optional<ArrayFile> sources;
  std::optional<ArrayFile> destinations;
  std::optional<ArrayFile> original_ids;
  std::map<std::string, ArrayFile> columns;
  int line = 0;
};

struct SplitDescription {
  std::string name;
  std::string type;                                   // node type; empty: the only node type
  std::optional<graph::CanonicalEdgeType> edge_type;  // for a split of edges; `type` is empty then
  std::optional<ArrayFile> train;
  std::optional<ArrayFile> validation;
  std::optional<ArrayFile> test;
  int line = 0;
};

struct GraphDescription {
  std::string name;
  std::vector<NodeDescription> nodes;
  std::vector<EdgeDescription> edges;
  std::vector<SplitDescription> splits;
};

// Parses an untrusted graph.yaml. Errors begin with "line <n>: ". Unknown and duplicate fields are errors, and so are
// more than 2^22 values, where an alias counts as all values of its anchor.
Result<GraphDescription> ParseGraphDescription(const std::string& yaml);

// Returns the text of a graph.yaml with this content.
std::string GraphDescriptionToYaml(const GraphDescription& description);

}  // namespace espalier::format
