// DGL's chunked graphs: a folder with metadata.json (chunked_metadata.h) and the chunks that it names.
#pragma once

#include <string>

#include "services/format/source/source_reader.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

// The split that columns train_mask, val_mask and test_mask make.
inline constexpr char kMaskSplit[] = "masks";

// All node and edge types with all their data. Where a type has some of the columns train_mask, val_mask and test_mask,
// one integer or BOOL a row, they are also its split "masks": rows that are not 0. Where only some of them are masks,
// the type has no such split, and options.warnings tells. With a `scratch_folder` arrays of several chunks are put
// together in unnamed files there, and mapped: memory holds a chunk at a time, the splits, and what the kernel has room
// for.
Result<graph::SourceGraph> ReadChunked(const SourceReadOptions& options, const std::string& scratch_folder = "");

// Whether its edges have columns that may be masks, whose split names them by numbers; false where the metadata cannot
// be read, for which ReadChunked has the words.
bool ChunkedNumbersEdges(const std::string& directory);

}  // namespace espalier::format
