// Tables, edges, ids and names in delimited text. Property: tables and edges do not depend on how the file is divided
// into blocks.
#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/check.h"
#include "services/format/source/csv_table.h"
#include "services/fuzz/input_file.h"

namespace {

using espalier::Result;
using espalier::Tensor;
using espalier::format::BlockReading;

std::string Describe(const Result<Tensor>& table) {
  if (!table.ok()) return table.status().ToString();
  return table->ToString() + std::string(reinterpret_cast<const char*>(table->bytes()), table->size_bytes());
}

std::string Describe(const Result<espalier::format::CsvEdges>& edges) {
  if (!edges.ok()) return edges.status().ToString();
  return Describe(Result<Tensor>(edges->sources)) + Describe(Result<Tensor>(edges->destinations));
}

}  // namespace

// The first byte determines the options.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::format;  // NOLINT: one function
  if (size == 0) return 0;
  const uint8_t choice = data[0];
  const espalier::fuzz::InputFile file(data + 1, size - 1);
  const BlockReading whole = {.threads = 1, .block_bytes = size_t{1} << 20};
  const BlockReading cut = {.threads = 1, .block_bytes = size_t{1} + choice % 16};
  const char delimiter = (choice & 1) != 0 ? ' ' : ',';

  CsvOptions options = {.numbers = (choice & 2) != 0 ? CsvNumbers::kFloats : CsvNumbers::kInferred,
                        .shape = (choice & 4) != 0 ? CsvShape::kMatrix : CsvShape::kSqueeze,
                        .delimiter = delimiter,
                        .may_lack_values = (choice & 16) != 0};
  if ((choice & 8) != 0) options.num_rows = choice >> 4;
  ESPALIER_CHECK(Describe(ReadCsvTable(file.path(), options, whole)) ==
                 Describe(ReadCsvTable(file.path(), options, cut)));

  CsvEdgeLimits limits = {.num_sources = 100, .num_destinations = 1000, .delimiter = delimiter};
  if ((choice & 8) != 0) limits.num_edges = choice >> 4;
  ESPALIER_CHECK(Describe(ReadCsvEdges(file.path(), limits, whole)) ==
                 Describe(ReadCsvEdges(file.path(), limits, cut)));

  const auto ids = ReadCsvIds(file.path(), /*limit=*/1000, /*max_rows=*/64);
  ESPALIER_CHECK(!ids.ok() || ids->size() <= 64);
  const auto text = ReadCsvText(file.path(), /*max_rows=*/64);
  ESPALIER_CHECK(!text.ok() || text->size() <= 64);
  return 0;
}
