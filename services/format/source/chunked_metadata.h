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

// An array in chunks: the rows of files[0], followed by those of files[1], and so on.
struct ChunkedArray {
  ChunkFormat format = ChunkFormat::kCsv;
  char delimiter = ',';            // for CSV
  std::vector<std::string> files;  // paths relative to the folder of metadata.json, without ".."
  std::string where;               // "metadata.json:12, node_data['paper']['feat']": for messages
};

// The number of rows of the arrays of a type.
struct ChunkedRows {
  uint64_t count = 0;
  std::vector<uint64_t> per_chunk;  // empty if metadata.json has num_*_per_type only
};

struct ChunkedNodes {
  std::string type;
  ChunkedRows rows;
  std::map<std::string, ChunkedArray> columns;
};

struct ChunkedEdges {
  graph::CanonicalEdgeType type;
  ChunkedRows rows;
  ChunkedArray ends;  // "source destination" in each row
  std::map<std::string, ChunkedArray> columns;
};

struct ChunkedMetadata {
  std::string name;  // may be empty
  std::vector<ChunkedNodes> nodes;
  std::vector<ChunkedEdges> edges;
};

// Parses an untrusted metadata.json. Ignores fields that are not listed above. Returns InvalidArgument that names the
// line and the field. Limits: 2^22 values (checked before the document is loaded), 2^20 files, 2^16 node types and 2^16
// edge types. The document is parsed as YAML, but anchors are rejected. chunk_graph.py writes absolute paths of the
// host where it runs; only their last components are used (`edge_index/<file>`, `node_data/<type>/<file>`,
// `edge_data/<type>/<file>`), so that the folder can be moved.
Result<ChunkedMetadata> ParseChunkedMetadata(const std::string& json);

}  // namespace espalier::format
