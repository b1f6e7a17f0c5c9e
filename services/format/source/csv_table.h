// Reads delimited numbers without a header line: OGB's raw files and DGL's chunks. Blanks around numbers, a byte order
// mark, "\r\n" line ends and blank lines at the end of the file are accepted. Tables and edges are parsed by several
// threads; results and errors do not depend on the number of threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/source/line_blocks.h"

namespace espalier::format {

enum class CsvNumbers {
  kFloats,   // F32
  kInferred  // I64 if every field is an integer, otherwise F32
};
enum class CsvShape {
  kMatrix,  // [rows, width], also if the width is 1
  kSqueeze  // [rows] if the width is 1, otherwise [rows, width]
};

struct CsvOptions {
  CsvNumbers numbers = CsvNumbers::kFloats;
  CsvShape shape = CsvShape::kMatrix;
  std::optional<uint64_t> num_rows;  // required number of rows; reading stops at the first excess row
  char delimiter = ',';              // must not be a character of a number
  // True for label columns: a missing value (IsMissing) is read as NaN, which makes the table F32. False: a missing
  // value is an error.
  bool may_lack_values = false;
};

// Returns true if a field denotes a missing value, as in pandas: empty, nan, na, n/a, null, none and variants,
// case-insensitive.
bool IsMissing(std::string_view field);

// Reads a table of numbers. Errors name the file, the line and the field. An empty file has width 0.
Result<Tensor> ReadCsvTable(const std::string& path, const CsvOptions& options, const BlockReading& reading = {});

// Reads one number per line (num-node-list, splits), in file order. Returns OutOfRange for a number outside of
// [0, limit), and InvalidArgument for text that is not an integer and for more than `max_rows` lines. `max_rows` bounds
// the memory for compressed files.
Result<std::vector<uint64_t>> ReadCsvIds(const std::string& path, uint64_t limit, uint64_t max_rows);

struct CsvEdges {
  Tensor sources;       // U32, or U64 if the source or the destination type has more than 2^32 nodes
  Tensor destinations;  // same dtype
};
struct CsvEdgeLimits {
  uint64_t num_sources = 0;
  uint64_t num_destinations = 0;
  std::optional<uint64_t> num_edges;  // required number of edges
  char delimiter = ',';
};
// Reads edges: a source, the delimiter and a destination per line. Returns OutOfRange for ids that are not less than
// the limits.
Result<CsvEdges> ReadCsvEdges(const std::string& path, const CsvEdgeLimits& limits, const BlockReading& reading = {});

// Reads rows of text, split at commas (num-node-dict, triplet-type-list). Returns InvalidArgument for more than
// `max_rows` rows.
Result<std::vector<std::vector<std::string>>> ReadCsvText(const std::string& path, size_t max_rows);

}  // namespace espalier::format
