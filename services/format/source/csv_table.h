// Delimited numbers without a header line, as OGB's raw files and DGL's chunks have them. Blanks around a number, a
// byte order mark, either line end and blank lines at the end of the file are skipped. Tables and edges are parsed by
// several threads; what is read, and the first error, do not depend on how many.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/source/line_blocks.h"

namespace espalier::format {

enum class CsvNumbers {
  kFloats,   // F32, whatever is written
  kInferred  // I64 where every field is an integer, else F32: pandas' rule
};
enum class CsvShape {
  kMatrix,  // [rows, width], also where the width is 1
  kSqueeze  // [rows] where the width is 1
};

struct CsvOptions {
  CsvNumbers numbers = CsvNumbers::kFloats;
  CsvShape shape = CsvShape::kMatrix;
  std::optional<uint64_t> num_rows;  // what the file must have; reading stops at the first row too many
  char delimiter = ',';              // no character of a number
  // Of a label column: a missing value (IsMissing) is NaN, which makes the table F32. Else it is an error.
  bool may_lack_values = false;
};
// Whether a field is one of the spellings of a missing value, in any case: nothing, nan, na, n/a, null, none (those
// that pandas reads as NaN).
bool IsMissing(std::string_view field);

// Errors name file, line and field. An empty file has width 0.
Result<Tensor> ReadCsvTable(const std::string& path, const CsvOptions& options, const BlockReading& reading = {});

// One number a line (num-node-list, splits): below `limit`, in the order of the file. InvalidArgument: a line more than
// `max_rows`, which bounds the memory, whatever a packed file grows to.
Result<std::vector<uint64_t>> ReadCsvIds(const std::string& path, uint64_t limit, uint64_t max_rows);

struct CsvEdges {
  Tensor sources;       // U32, or U64 where a node type has 2^32 nodes or more
  Tensor destinations;  // alike
};
struct CsvEdgeLimits {
  uint64_t num_sources = 0;
  uint64_t num_destinations = 0;
  std::optional<uint64_t> num_edges;  // what the file must have
  char delimiter = ',';
};
// "source,destination" a line.
Result<CsvEdges> ReadCsvEdges(const std::string& path, const CsvEdgeLimits& limits, const BlockReading& reading = {});

// Rows of text, split at commas (num-node-dict, triplet-type-list).
Result<std::vector<std::vector<std::string>>> ReadCsvText(const std::string& path, size_t max_rows);

}  // namespace espalier::format
