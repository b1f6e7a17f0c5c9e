// Large files are parsed in blocks of whole lines by several threads (ForEachBlock, ParseBlock); one thread merges the
// blocks in file order, so that types, widths and the first error are those of a sequential read. kInferred starts with
// integers and converts all values read so far when the first float occurs. Small files (counts, splits, names) are
// read line by line.
#include "services/format/source/csv_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "services/base/parse_number.h"
#include "services/format/source/csv_rows.h"
#include "services/format/source/growing_column.h"
#include "services/format/source/line_reader.h"
#include "services/graph/id_values.h"
#include "services/graph/label_columns.h"

namespace espalier::format {
namespace {

constexpr size_t kMaxWidth = 1 << 20;
constexpr size_t kConvertedAtOnce = 1 << 16;  // integers that are converted to floats per Append

std::string_view WithoutBlanks(std::string_view field) {
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  return field;
}

// Removes and returns the field before the next delimiter.
std::string_view TakeField(std::string_view& rest, char delimiter) {
  const size_t end = rest.find(delimiter);
  const std::string_view field = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return WithoutBlanks(field);
}

size_t CountFields(std::string_view line, char delimiter) {
  size_t fields = 1;
  for (const char c : line) fields += c == delimiter ? 1 : 0;
  return fields;
}

// Parses a field, with an optional '+', as a number of type T. Returns false if it is not one or does not fit.
template <class T>
bool ParseValue(std::string_view field, T& value) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  const std::optional<T> number = ParseNumber<T>(field);
  if (number) value = *number;
  return number.has_value();
}

// Parses a float. ParseNumber refuses numbers outside of the normal range of F32; these are parsed as F64 and rounded.
bool ParseFloat(std::string_view field, float& value) {
  if (ParseValue(field, value)) return true;
  double wide = 0;
  if (!ParseValue(field, wide)) return false;
  value = static_cast<float>(wide);
  return true;
}

std::string Quoted(std::string_view field) { return "'" + std::string(field.substr(0, 40)) + "'"; }

bool IsNumber(std::string_view field) {
  float number = 0;
  return ParseFloat(field, number);
}

// Returns the remedy for a `field` of `line` that is not a number, for messages; "" if the cause is unknown.
std::string RemedyFor(std::string_view field, std::string_view line, char delimiter, uint64_t line_number) {
  if (line.find('\0') != std::string_view::npos)
    return " (is the file in UTF-16, or compressed? expected text in UTF-8)";
  if (field.starts_with('"') || field.starts_with('\'')) return " without quotes";
  if (line.find(delimiter) == std::string_view::npos) {
    for (const char other : {';', '\t', '|', ',', ' '}) {
      if (other == delimiter || line.find(other) == std::string_view::npos) continue;
      return std::string("; numbers must be separated by ") + (delimiter == '\t' ? "tabs" : Quoted({&delimiter, 1}));
    }
  }
  if (line_number > 1) return "";
  bool has_number = false;
  for (std::string_view rest = line; !rest.empty();) has_number = IsNumber(TakeField(rest, delimiter)) || has_number;
  return has_number ? "" : "; if this line is a header, delete it";
}

// Returns an error unless a row has `width` fields, as the rows before it.
Status CheckRowWidth(size_t fields, size_t width, const std::string& path, uint64_t line_number) {
  if (fields > kMaxWidth) {
    return InvalidArgument(Where(path, line_number) + " has " + std::to_string(fields) +
                           " fields: expected at most 2^20");
  }
  if (fields == width) return {};
  return InvalidArgument(Where(path, line_number) + " has " + std::to_string(fields) + " fields: expected " +
                         std::to_string(width) + " as in the lines before");
}

// Builds the rows of one block. With kInferred, values are integers until a field is not an integer; then all are
// converted to floats.
class TableBuilder {
 public:
  explicit TableBuilder(const CsvOptions& options)
      : delimiter_(options.delimiter),
        may_lack_values_(options.may_lack_values),
        integral_(options.numbers == CsvNumbers::kInferred) {}

  Status AddRow(std::string_view line, const std::string& path, uint64_t line_number) {
    const size_t fields = CountFields(line, delimiter_);
    if (rows_ == 0) width_ = fields;
    RETURN_IF_ERROR(CheckRowWidth(fields, width_, path, line_number));
    std::string_view rest = line;
    for (size_t i = 0; i < fields; ++i) {
      const std::string_view field = TakeField(rest, delimiter_);
      if (AddField(field)) continue;
      const std::string what = Where(path, line_number) + ", field " + std::to_string(i + 1) + " is " + Quoted(field) +
                               ": expected a number";
      if (IsMissing(field)) return InvalidArgument(what + "; " + graph::kOnlyLabelsLackValues);
      return InvalidArgument(what + RemedyFor(field, line, delimiter_, line_number));
    }
    ++rows_;
    return {};
  }

  uint64_t rows() const { return rows_; }
  size_t width() const { return width_; }  // 0: the block has no row, not even an invalid one
  bool integral() const { return integral_; }

  std::vector<int64_t> TakeIntegers() && { return std::move(integers_); }
  std::vector<float> TakeFloats() && {
    ConvertToFloats();
    return std::move(floats_);
  }

 private:
  bool AddField(std::string_view field) {
    if (integral_) {
      int64_t integer = 0;
      if (ParseValue(field, integer)) {
        integers_.push_back(integer);
        return true;
      }
    }
    float number = 0;
    if (!ParseFloat(field, number) || std::isnan(number)) {
      if (!may_lack_values_ || !IsMissing(field)) return false;
      number = std::numeric_limits<float>::quiet_NaN();
    }
    ConvertToFloats();
    floats_.push_back(number);
    return true;
  }

  void ConvertToFloats() {
    if (!integral_) return;
    integral_ = false;
    floats_.assign(integers_.begin(), integers_.end());
    integers_ = {};
  }

  char delimiter_;
  bool may_lack_values_;
  bool integral_;
  uint64_t rows_ = 0;
  size_t width_ = 0;
  std::vector<int64_t> integers_;
  std::vector<float> floats_;
};

// Joins the rows of blocks in file order. With kInferred, values are integers until a block has floats; then all are
// converted.
class JoinedTable {
 public:
  JoinedTable(const CsvOptions& options, const std::string& scratch_folder)
      : integral_(options.numbers == CsvNumbers::kInferred), integers_(scratch_folder), floats_(scratch_folder) {}

  // Appends the rows of a block that starts on line `first_line`.
  Status Append(TableBuilder block, const std::string& path, uint64_t first_line) {
    if (block.width() == 0) return {};
    if (rows_ == 0) width_ = block.width();
    RETURN_IF_ERROR(CheckRowWidth(block.width(), width_, path, first_line));
    if (integral_ && !block.integral()) RETURN_IF_ERROR(ConvertToFloats());
    rows_ += block.rows();
    if (integral_) return integers_.Append(std::move(block).TakeIntegers());
    return floats_.Append(std::move(block).TakeFloats());
  }

  Result<Tensor> Finish(CsvShape shape) && {
    std::vector<int64_t> dimensions = {static_cast<int64_t>(rows_)};
    if (shape == CsvShape::kMatrix || width_ > 1) dimensions.push_back(static_cast<int64_t>(width_));
    if (rows_ == 0) return Tensor::Zeros(integral_ ? DType::kI64 : DType::kF32, dimensions);
    if (integral_) return std::move(integers_).Finish(std::move(dimensions));
    return std::move(floats_).Finish(std::move(dimensions));
  }

 private:
  Status ConvertToFloats() {
    integral_ = false;
    ASSIGN_OR_RETURN(const Tensor integers, std::move(integers_).Finish());
    const std::span<const int64_t> values = integers.values<int64_t>();
    for (size_t begin = 0; begin < values.size(); begin += kConvertedAtOnce) {
      const std::span<const int64_t> some = values.subspan(begin, std::min(kConvertedAtOnce, values.size() - begin));
      RETURN_IF_ERROR(floats_.Append(std::vector<float>(some.begin(), some.end())));
    }
    return {};
  }

  bool integral_;
  uint64_t rows_ = 0;
  size_t width_ = 0;
  GrowingColumn<int64_t> integers_;
  GrowingColumn<float> floats_;
};

// Calls row(line, reader) for each line that is not blank. Blank lines are errors except at the end of the file. Stops
// at the first error.
template <class Row>
Status ForEachLine(const std::string& path, const Row& row) {
  ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  bool blank = false;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> line, reader.Next());
    if (!line) return {};
    if (IsBlank(*line)) {
      blank = true;
      continue;
    }
    if (blank) return EmptyLineError(path, reader.line());
    RETURN_IF_ERROR(row(*line, reader));
  }
}

// Parses `field` as an id below `limit`. `what`, `path`, `line_number`, `line` and `delimiter` are for messages.
Result<uint64_t> ParseId(std::string_view field, uint64_t limit, const char* what, const std::string& path,
                         uint64_t line_number, std::string_view line, char delimiter) {
  int64_t id = 0;
  if (!ParseValue(field, id)) {
    return InvalidArgument(Where(path, line_number) + ": the " + what + " is " + Quoted(field) +
                           ": expected an integer" + RemedyFor(field, line, delimiter, line_number));
  }
  if (id < 0 || static_cast<uint64_t>(id) >= limit) {
    return OutOfRange(Where(path, line_number) + ": the " + what + " is " + std::to_string(id) + ": " +
                      graph::DescribeIdRange(limit));
  }
  return static_cast<uint64_t>(id);
}

template <class T>
struct EdgeEnds {
  std::vector<T> sources, destinations;
};

template <class T>
Status AddEdge(std::string_view line, const std::string& path, uint64_t line_number, const CsvEdgeLimits& limits,
               EdgeEnds<T>* ends) {
  if (const size_t fields = CountFields(line, limits.delimiter); fields != 2) {
    return InvalidArgument(Where(path, line_number) + " has " + std::to_string(fields) + " fields: expected source" +
                           limits.delimiter + "destination" + RemedyFor(line, line, limits.delimiter, line_number));
  }
  std::string_view rest = line;
  const std::string_view first = TakeField(rest, limits.delimiter), second = TakeField(rest, limits.delimiter);
  ASSIGN_OR_RETURN(const uint64_t source,
                   ParseId(first, limits.num_sources, "source", path, line_number, line, limits.delimiter));
  ASSIGN_OR_RETURN(const uint64_t destination,
                   ParseId(second, limits.num_destinations, "destination", path, line_number, line, limits.delimiter));
  ends->sources.push_back(static_cast<T>(source));
  ends->destinations.push_back(static_cast<T>(destination));
  return {};
}

template <class T>
Result<CsvEdges> ReadEdgesAs(const std::string& path, const CsvEdgeLimits& limits, const BlockReading& reading) {
  const auto parse = [&](const LineBlock& block) {
    return ParseBlock(block, path, EdgeEnds<T>(), [&](std::string_view line, uint64_t number, EdgeEnds<T>* ends) {
      return AddEdge(line, path, number, limits, ends);
    });
  };
  GrowingColumn<T> sources(reading.scratch_folder), destinations(reading.scratch_folder);
  RowChecker checker(path, limits.num_edges);
  const auto merge = [&](BlockRows<EdgeEnds<T>> part) -> Status {
    RETURN_IF_ERROR(checker.CheckNext(part));
    RETURN_IF_ERROR(part.error);
    RETURN_IF_ERROR(sources.Append(std::move(part.rows.sources)));
    return destinations.Append(std::move(part.rows.destinations));
  };
  RETURN_IF_ERROR(ForEachBlock(path, reading, parse, merge));

  RETURN_IF_ERROR(checker.CheckEnd());
  CsvEdges edges;
  ASSIGN_OR_RETURN(edges.sources, std::move(sources).Finish());
  ASSIGN_OR_RETURN(edges.destinations, std::move(destinations).Finish());
  return edges;
}

}  // namespace

bool IsMissing(std::string_view field) {
  constexpr std::array<std::string_view, 9> kSpellings = {"nan", "-nan", "+nan", "na",  "<na>",
                                                          "n/a", "#n/a", "null", "none"};
  if (field.empty()) return true;
  return std::any_of(kSpellings.begin(), kSpellings.end(), [field](std::string_view spelling) {
    return std::equal(field.begin(), field.end(), spelling.begin(), spelling.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
  });
}

Result<Tensor> ReadCsvTable(const std::string& path, const CsvOptions& options, const BlockReading& reading) {
  const auto parse = [&](const LineBlock& block) {
    return ParseBlock(
        block, path, TableBuilder(options),
        [&](std::string_view line, uint64_t number, TableBuilder* table) { return table->AddRow(line, path, number); });
  };
  JoinedTable table(options, reading.scratch_folder);
  RowChecker checker(path, options.num_rows);
  const auto merge = [&](BlockRows<TableBuilder> part) -> Status {
    RETURN_IF_ERROR(checker.CheckNext(part));
    RETURN_IF_ERROR(table.Append(std::move(part.rows), path, part.first_line));
    return part.error;
  };
  RETURN_IF_ERROR(ForEachBlock(path, reading, parse, merge));

  RETURN_IF_ERROR(checker.CheckEnd());
  return std::move(table).Finish(options.shape);
}

Result<std::vector<uint64_t>> ReadCsvIds(const std::string& path, uint64_t limit, uint64_t max_rows) {
  std::vector<uint64_t> ids;
  RETURN_IF_ERROR(ForEachLine(path, [&](std::string_view line, const LineReader& reader) -> Status {
    ASSIGN_OR_RETURN(const uint64_t id, ParseId(WithoutBlanks(line), limit, "number", path, reader.line(), line, ','));
    if (ids.size() == max_rows) {
      return InvalidArgument(reader.Where() + ": one line too many: expected at most " + std::to_string(max_rows));
    }
    ids.push_back(id);
    return {};
  }));
  return ids;
}

Result<CsvEdges> ReadCsvEdges(const std::string& path, const CsvEdgeLimits& limits, const BlockReading& reading) {
  constexpr uint64_t kMaxNodesWithU32Ids = uint64_t{1} << 32;
  const bool narrow = limits.num_sources <= kMaxNodesWithU32Ids && limits.num_destinations <= kMaxNodesWithU32Ids;
  return narrow ? ReadEdgesAs<uint32_t>(path, limits, reading) : ReadEdgesAs<uint64_t>(path, limits, reading);
}

Result<std::vector<std::vector<std::string>>> ReadCsvText(const std::string& path, size_t max_rows) {
  std::vector<std::vector<std::string>> rows;
  RETURN_IF_ERROR(ForEachLine(path, [&](std::string_view line, const LineReader& reader) -> Status {
    if (rows.size() == max_rows) return InvalidArgument(path + " has more than " + std::to_string(max_rows) + " rows");
    const size_t fields = CountFields(line, ',');
    if (fields > kMaxWidth) return InvalidArgument(reader.Where() + " has more than 2^20 fields");
    std::vector<std::string>& row = rows.emplace_back();
    for (size_t i = 0; i < fields; ++i) row.emplace_back(TakeField(line, ','));
    return {};
  }));
  return rows;
}

}  // namespace espalier::format
