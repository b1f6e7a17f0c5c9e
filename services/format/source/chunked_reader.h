// Reads DGL's chunked graphs: a folder with metadata.json (chunked_metadata.h) and the chunks that it lists.
#pragma once

#include <string>

#include "services/format/source/source_reader.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

// The name of the split that is made from the columns train_mask, val_mask and test_mask.
inline constexpr char kMaskSplit[] = "masks";

// Reads all node and edge types with all their columns. The columns train_mask, val_mask and test_mask are masks if
// they have one integer or BOOL per row. The rows of a type that are not 0 in its masks form its split "masks". If a
// type has a mask, but another of these columns is not a mask, the type gets no split, and options.warnings gets the
// reason. With a `scratch_folder`, arrays of several chunks are joined in unnamed, mapped files there, so that memory
// holds only one chunk at a time, besides the splits. The graph is not validated.
Result<graph::SourceGraph> ReadChunked(const SourceReadOptions& options, const std::string& scratch_folder = "");

// Returns true if an edge type has a column train_mask, val_mask or test_mask, so that its split may identify edges by
// their row numbers (graph::EdgePairs::edge_ids). Returns false if metadata.json cannot be read; ReadChunked then
// returns the error.
bool ChunkedSplitsMayHaveEdgeIds(const std::string& directory);

}  // namespace espalier::format
