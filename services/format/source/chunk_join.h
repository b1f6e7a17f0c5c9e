// Arrays of DGL's chunked graphs, from their chunks to one: a chunk at a time is read and copied behind the others.
#pragma once

#include <string>

#include "services/base/tensor.h"
#include "services/format/source/chunked_metadata.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

struct ChunkReading {
  std::string directory;  // that of metadata.json
  int threads = 1;        // results and errors do not depend on it
  // Where arrays are put together in files that are mapped, so that memory holds a chunk at a time; empty: in memory.
  std::string scratch_folder = {};
  graph::LabelColumns labels = {};  // which columns may lack values
};

// [rows.count, ...]. Numpy: dtype and row shape are the first chunk's, and every other chunk must have them. CSV:
// numbers, I64 where all are integers, else F32; [rows.count] where there is one a line. Without rows and files: F32
// [0]. Errors name the field of metadata.json, the chunk, and line or row. An array of one .npy file is mapped, not
// copied.
Result<Tensor> ReadChunkedColumn(const std::string& name, const ChunkedArray& array, const ChunkedRows& rows,
                                 const ChunkReading& reading);

struct EdgeEndLimits {
  uint64_t num_sources = 0;
  uint64_t num_destinations = 0;
};
// Sources and destinations, of which every one exists. Numpy: chunks [k, 2] of I32, I64, U32 or U64, one dtype. A
// relation of 0 edges needs no files.
Result<graph::EdgeSet> ReadChunkedEdges(const ChunkedArray& array, const ChunkedRows& rows, const EdgeEndLimits& limits,
                                        const ChunkReading& reading);

}  // namespace espalier::format
