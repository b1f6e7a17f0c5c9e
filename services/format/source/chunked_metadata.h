// metadata.json of DGL's chunked graph format (tools/chunk_graph.py; the user guide's "Distributed preprocessing"):
//
//   {"graph_name": "mag",
//    "node_type": ["author", "paper"],
//    "num_nodes_per_chunk": [[3, 2], [2, 2]],          // by node type; or "num_nodes_per_type": [5, 4]
//    "edge_type": ["author:writes:paper"],
//    "num_edges_per_chunk": [[4, 3]],                  // by edge type; or "num_edges_per_type": [7]
//    "edges": {"author:writes:paper": {"format": {"name": "csv", "delimiter": " "},
//                                      "data": ["edge_index/author:writes:paper0.txt", ...]}},
//    "node_data": {"paper": {"feat": {"format": {"name": "numpy"}, "data": ["node_data/paper/feat-0.npy", ...]}}},
//    "edge_data": {"author:writes:paper": {"year": {...}}}}
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/graph/schema.h"

namespace espalier::format {

inline constexpr char kChunkedMetadataFile[] = "metadata.json";

enum class ChunkFormat { kCsv, kNumpy };

// An array in pieces: the rows of files[0], then those of files[1], and so on.
struct ChunkedArray {
  ChunkFormat format = ChunkFormat::kCsv;
  char delimiter = ',';            // of CSV
  std::vector<std::string> files;  // relative to the folder, below it
  std::string where;               // "metadata.json:12, node_data['paper']['feat']": for messages
};

// How many rows the arrays of a type have.
struct ChunkedRows {
  uint64_t count = 0;
  std::vector<uint64_t> per_chunk;  // empty where only the count is told
};

struct ChunkedNodes {
  std::string type;
  ChunkedRows rows;
  std::map<std::string, ChunkedArray> columns;
};

struct ChunkedEdges {
  graph::CanonicalEdgeType type;
  ChunkedRows rows;
  ChunkedArray ends;  // "source destination" a row
  std::map<std::string, ChunkedArray> columns;
};

struct ChunkedMetadata {
  std::string name;  // may be empty
  std::vector<ChunkedNodes> nodes;
  std::vector<ChunkedEdges> edges;
};

// Untrusted text; fields that are not above are ignored. InvalidArgument names the line and the field. Bounds, checked
// before memory is taken: 2^22 values in all, 2^20 files, 2^16 types of a kind, no anchors (the parser reads YAML).
// chunk_graph.py writes the absolute paths of its own host: of those the end counts, `edge_index/<file>`,
// `node_data/<type>/<file>` or `edge_data/<type>/<file>`, so that the folder may have been moved since.
Result<ChunkedMetadata> ParseChunkedMetadata(const std::string& json);

}  // namespace espalier::format
