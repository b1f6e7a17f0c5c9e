// Reads the arrays of DGL's chunked graphs: joins the chunks of an array into one tensor, one chunk at a time.
#pragma once

#include <string>

#include "services/base/tensor.h"
#include "services/format/source/chunked_metadata.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

// Options of ReadChunkedColumn and ReadChunkedEdges.
struct ChunkReading {
  std::string directory;  // the folder of metadata.json
  int threads = 1;        // results and errors do not depend on the number of threads
  // Folder for mapped files in which arrays are joined, so that memory holds one chunk at a time. Empty: arrays are
  // joined in memory.
  std::string scratch_folder = {};
  graph::LabelColumns labels = {};  // columns that may have missing values
};

// Reads a column with shape [rows.count, ...]. NumPy: all chunks must have the dtype and row shape of the first one; an
// array of one .npy file is mapped, not copied. CSV: I64 if all numbers are integers, otherwise F32; [rows.count] if
// each line has one number. An array without files, or of CSV files without rows, is F32 [0]. Errors name the field of
// metadata.json, the chunk, and the line or row.
Result<Tensor> ReadChunkedColumn(const std::string& name, const ChunkedArray& array, const ChunkedRows& rows,
                                 const ChunkReading& reading);

// Number of nodes of the source type and of the destination type. Ids must be less.
struct EdgeEndLimits {
  uint64_t num_sources = 0;
  uint64_t num_destinations = 0;
};
// Reads the sources and destinations of an edge type, and checks them against `limits` (OutOfRange). NumPy chunks are
// [k, 2] of I32, I64, U32 or U64, all with the same dtype. An edge type without edges needs no files.
Result<graph::EdgeSet> ReadChunkedEdges(const ChunkedArray& array, const ChunkedRows& rows, const EdgeEndLimits& limits,
                                        const ChunkReading& reading);

}  // namespace espalier::format
