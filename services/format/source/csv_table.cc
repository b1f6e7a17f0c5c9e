#include "services/format/source/csv_table.h"

#include <charconv>
#include <limits>
#include <string_view>

#include "services/format/source/line_reader.h"

namespace espalier::format {
namespace {

constexpr size_t kMaxWidth = 1 << 20;

// Splits off the field before the next comma.
std::string_view TakeField(std::string_view& rest) {
  const size_t comma = rest.find(',');
  std::string_view field = rest.substr(0, comma);
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  return field;
}

size_t CountFields(std::string_view line) {
  size_t fields = 1;
  for (const char c : line) fields += c == ',' ? 1 : 0;
  return fields;
}

template <class T>
bool ParseWhole(std::string_view field, T& value) {
  if (!field.empty() && field[0] == '+') field.remove_prefix(1);
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size();
}

// Numbers beyond F32's range or of its subnormals: from_chars says "out of range", the double has the right rounding.
bool ParseFloat(std::string_view field, float& value) {
  if (ParseWhole(field, value)) return true;
  double wide = 0;
  if (!ParseWhole(field, wide)) return false;
  value = static_cast<float>(wide);
  return true;
}

std::string Quoted(std::string_view field) { return "'" + std::string(field.substr(0, 40)) + "'"; }

// Collects rows of one width; integers until a field is none.
class TableBuilder {
 public:
  explicit TableBuilder(CsvNumbers numbers) : integral_(numbers == CsvNumbers::kInferred) {}

  Status AddRow(std::string_view line, const LineReader& reader) {
    const size_t fields = CountFields(line);
    if (rows_ == 0) width_ = fields;
    if (fields > kMaxWidth)
      return InvalidArgument(reader.Where() + " has " + std::to_string(fields) + " fields: expected at most 2^20");
    if (fields != width_) {
      return InvalidArgument(reader.Where() + " has " + std::to_string(fields) + " fields, the lines before " +
                             std::to_string(width_));
    }
    for (size_t i = 0; i < fields; ++i) {
      const std::string_view field = TakeField(line);
      if (!AddField(field)) {
        return InvalidArgument(reader.Where() + ", field " + std::to_string(i + 1) + " is " + Quoted(field) +
                               ": expected a number");
      }
    }
    ++rows_;
    return {};
  }

  Tensor Finish(CsvShape shape) && {
    std::vector<int64_t> dimensions = {static_cast<int64_t>(rows_)};
    if (shape == CsvShape::kMatrix || width_ > 1) dimensions.push_back(static_cast<int64_t>(width_));
    if (rows_ == 0) return Tensor::Zeros(integral_ ? DType::kI64 : DType::kF32, dimensions);
    if (integral_) return Tensor::FromVector(std::move(integers_), std::move(dimensions));
    return Tensor::FromVector(std::move(floats_), std::move(dimensions));
  }

 private:
  bool AddField(std::string_view field) {
    if (integral_) {
      int64_t integer = 0;
      if (ParseWhole(field, integer)) {
        integers_.push_back(integer);
        return true;
      }
      integral_ = false;
      floats_.assign(integers_.begin(), integers_.end());
      integers_ = {};
    }
    float number = 0;
    if (!ParseFloat(field, number)) return false;
    floats_.push_back(number);
    return true;
  }

  bool integral_;
  size_t rows_ = 0;
  size_t width_ = 0;
  std::vector<int64_t> integers_;
  std::vector<float> floats_;
};

// Calls row(line, where) for each line; an empty line at the end of the file is no row. Stops at an error.
template <class Row>
Status ForEachLine(const std::string& path, const Row& row) {
  ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  bool blank = false;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> line, reader.Next());
    if (!line) return {};
    if (blank) return InvalidArgument(path + ": an empty line before " + reader.Where());
    blank = line->empty();
    if (!blank) RETURN_IF_ERROR(row(*line, reader));
  }
}

std::string RowCountError(const std::string& path, const std::string& has, uint64_t expected) {
  return path + " has " + has + " rows: expected " + std::to_string(expected);
}

Result<uint64_t> ParseId(std::string_view field, uint64_t limit, const std::string& what, const LineReader& reader) {
  int64_t id = 0;
  if (!ParseWhole(field, id)) {
    return InvalidArgument(reader.Where() + ": the " + what + " is " + Quoted(field) + ": expected an integer");
  }
  if (id < 0 || static_cast<uint64_t>(id) >= limit) {
    return OutOfRange(reader.Where() + ": the " + what + " is " + std::to_string(id) + ": expected 0 to " +
                      (limit == 0 ? "nothing (there are none)" : std::to_string(limit - 1)));
  }
  return static_cast<uint64_t>(id);
}

template <class T>
Result<CsvEdges> ReadEdgesAs(const std::string& path, const CsvEdgeLimits& limits) {
  std::vector<T> sources, destinations;
  RETURN_IF_ERROR(ForEachLine(path, [&](std::string_view line, const LineReader& reader) -> Status {
    if (limits.num_edges && sources.size() == *limits.num_edges) {
      return InvalidArgument(RowCountError(path, "more", *limits.num_edges));
    }
    if (const size_t fields = CountFields(line); fields != 2) {
      return InvalidArgument(reader.Where() + " has " + std::to_string(fields) +
                             " fields: expected source,destination");
    }
    ASSIGN_OR_RETURN(const uint64_t source, ParseId(TakeField(line), limits.num_sources, "source", reader));
    ASSIGN_OR_RETURN(const uint64_t destination,
                     ParseId(TakeField(line), limits.num_destinations, "destination", reader));
    sources.push_back(static_cast<T>(source));
    destinations.push_back(static_cast<T>(destination));
    return {};
  }));
  if (limits.num_edges && sources.size() != *limits.num_edges) {
    return InvalidArgument(RowCountError(path, std::to_string(sources.size()), *limits.num_edges));
  }
  return CsvEdges{Tensor::FromVector(std::move(sources)), Tensor::FromVector(std::move(destinations))};
}

}  // namespace

Result<Tensor> ReadCsvTable(const std::string& path, const CsvOptions& options) {
  TableBuilder table(options.numbers);
  uint64_t rows = 0;
  RETURN_IF_ERROR(ForEachLine(path, [&](std::string_view line, const LineReader& reader) -> Status {
    if (rows++ == options.num_rows) return InvalidArgument(RowCountError(path, "more", options.num_rows));
    return table.AddRow(line, reader);
  }));
  if (rows != options.num_rows) return InvalidArgument(RowCountError(path, std::to_string(rows), options.num_rows));
  return std::move(table).Finish(options.shape);
}

Result<std::vector<uint64_t>> ReadCsvIds(const std::string& path, uint64_t limit) {
  std::vector<uint64_t> ids;
  RETURN_IF_ERROR(ForEachLine(path, [&](std::string_view line, const LineReader& reader) -> Status {
    ASSIGN_OR_RETURN(const uint64_t id, ParseId(line, limit, "number", reader));
    ids.push_back(id);
    return {};
  }));
  return ids;
}

Result<CsvEdges> ReadCsvEdges(const std::string& path, const CsvEdgeLimits& limits) {
  constexpr uint64_t kNarrow = uint64_t{1} << 32;
  const bool narrow = limits.num_sources <= kNarrow && limits.num_destinations <= kNarrow;
  return narrow ? ReadEdgesAs<uint32_t>(path, limits) : ReadEdgesAs<uint64_t>(path, limits);
}

Result<std::vector<std::vector<std::string>>> ReadCsvText(const std::string& path, size_t max_rows) {
  std::vector<std::vector<std::string>> rows;
  RETURN_IF_ERROR(ForEachLine(path, [&](std::string_view line, const LineReader& reader) -> Status {
    if (rows.size() == max_rows) return InvalidArgument(path + " has more than " + std::to_string(max_rows) + " rows");
    const size_t fields = CountFields(line);
    if (fields > kMaxWidth) return InvalidArgument(reader.Where() + " has more than 2^20 fields");
    std::vector<std::string>& row = rows.emplace_back();
    for (size_t i = 0; i < fields; ++i) row.emplace_back(TakeField(line));
    return {};
  }));
  return rows;
}

}  // namespace espalier::format
