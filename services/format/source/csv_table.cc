#include "services/format/source/csv_table.h"

#include <charconv>
#include <limits>
#include <string_view>

#include "services/format/source/csv_rows.h"
#include "services/format/source/line_reader.h"

namespace espalier::format {
namespace {

constexpr size_t kMaxWidth = 1 << 20;

// Splits off the field before the next delimiter.
std::string_view TakeField(std::string_view& rest, char delimiter) {
  const size_t end = rest.find(delimiter);
  std::string_view field = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  return field;
}

size_t CountFields(std::string_view line, char delimiter) {
  size_t fields = 1;
  for (const char c : line) fields += c == delimiter ? 1 : 0;
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

template <class T>
void MoveBehind(std::vector<T>* all, std::vector<T> more) {
  if (all->empty()) {
    *all = std::move(more);
  } else {
    all->insert(all->end(), more.begin(), more.end());
  }
}

std::string Quoted(std::string_view field) { return "'" + std::string(field.substr(0, 40)) + "'"; }

// Rows of one width, of a block or of a file; integers until a field is none.
class TableBuilder {
 public:
  explicit TableBuilder(const CsvOptions& options)
      : delimiter_(options.delimiter), integral_(options.numbers == CsvNumbers::kInferred) {}

  Status AddRow(std::string_view line, const std::string& path, uint64_t line_number) {
    const size_t fields = CountFields(line, delimiter_);
    RETURN_IF_ERROR(CheckWidth(fields, path, line_number));
    for (size_t i = 0; i < fields; ++i) {
      const std::string_view field = TakeField(line, delimiter_);
      if (!AddField(field)) {
        return InvalidArgument(Where(path, line_number) + ", field " + std::to_string(i + 1) + " is " + Quoted(field) +
                               ": expected a number");
      }
    }
    ++rows_;
    return {};
  }

  // The rows of `block`, which starts on line `first_line`, behind those that are here.
  Status Append(TableBuilder block, const std::string& path, uint64_t first_line) {
    if (block.width_ == 0) return {};  // no row, not even one that is wrong
    RETURN_IF_ERROR(CheckWidth(block.width_, path, first_line));
    if (!integral_ || !block.integral_) {
      MakeFloats();
      block.MakeFloats();
    }
    MoveBehind(&integers_, std::move(block.integers_));
    MoveBehind(&floats_, std::move(block.floats_));
    rows_ += block.rows_;
    return {};
  }

  uint64_t rows() const { return rows_; }

  Tensor Finish(CsvShape shape) && {
    std::vector<int64_t> dimensions = {static_cast<int64_t>(rows_)};
    if (shape == CsvShape::kMatrix || width_ > 1) dimensions.push_back(static_cast<int64_t>(width_));
    if (rows_ == 0) return Tensor::Zeros(integral_ ? DType::kI64 : DType::kF32, dimensions);
    if (integral_) return Tensor::FromVector(std::move(integers_), std::move(dimensions));
    return Tensor::FromVector(std::move(floats_), std::move(dimensions));
  }

 private:
  // The first row of all decides the width.
  Status CheckWidth(size_t fields, const std::string& path, uint64_t line_number) {
    if (rows_ == 0) width_ = fields;
    if (fields > kMaxWidth) {
      return InvalidArgument(Where(path, line_number) + " has " + std::to_string(fields) +
                             " fields: expected at most 2^20");
    }
    if (fields == width_) return {};
    return InvalidArgument(Where(path, line_number) + " has " + std::to_string(fields) + " fields, the lines before " +
                           std::to_string(width_));
  }

  bool AddField(std::string_view field) {
    if (integral_) {
      int64_t integer = 0;
      if (ParseWhole(field, integer)) {
        integers_.push_back(integer);
        return true;
      }
      MakeFloats();
    }
    float number = 0;
    if (!ParseFloat(field, number)) return false;
    floats_.push_back(number);
    return true;
  }

  void MakeFloats() {
    if (!integral_) return;
    integral_ = false;
    floats_.assign(integers_.begin(), integers_.end());
    integers_ = {};
  }

  char delimiter_;
  bool integral_;
  uint64_t rows_ = 0;
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
    if (blank) return EmptyLineBefore(path, reader.line());
    blank = line->empty();
    if (!blank) RETURN_IF_ERROR(row(*line, reader));
  }
}

Result<uint64_t> ParseId(std::string_view field, uint64_t limit, const char* what, const std::string& path,
                         uint64_t line_number) {
  int64_t id = 0;
  if (!ParseWhole(field, id)) {
    return InvalidArgument(Where(path, line_number) + ": the " + what + " is " + Quoted(field) +
                           ": expected an integer");
  }
  if (id < 0 || static_cast<uint64_t>(id) >= limit) {
    return OutOfRange(Where(path, line_number) + ": the " + what + " is " + std::to_string(id) + ": expected 0 to " +
                      (limit == 0 ? "nothing (there are none)" : std::to_string(limit - 1)));
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
                           limits.delimiter + "destination");
  }
  const std::string_view first = TakeField(line, limits.delimiter);
  ASSIGN_OR_RETURN(const uint64_t source, ParseId(first, limits.num_sources, "source", path, line_number));
  ASSIGN_OR_RETURN(const uint64_t destination, ParseId(TakeField(line, limits.delimiter), limits.num_destinations,
                                                       "destination", path, line_number));
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
  EdgeEnds<T> all;
  RowOrder order(path, limits.num_edges);
  const auto merge = [&](BlockRows<EdgeEnds<T>> part) -> Status {
    RETURN_IF_ERROR(order.Admit(part));
    RETURN_IF_ERROR(part.error);
    MoveBehind(&all.sources, std::move(part.rows.sources));
    MoveBehind(&all.destinations, std::move(part.rows.destinations));
    return {};
  };
  RETURN_IF_ERROR(ForEachBlock(path, reading, parse, merge));

  RETURN_IF_ERROR(order.AtEnd());
  return CsvEdges{Tensor::FromVector(std::move(all.sources)), Tensor::FromVector(std::move(all.destinations))};
}

}  // namespace

Result<Tensor> ReadCsvTable(const std::string& path, const CsvOptions& options, const BlockReading& reading) {
  const auto parse = [&](const LineBlock& block) {
    return ParseBlock(
        block, path, TableBuilder(options),
        [&](std::string_view line, uint64_t number, TableBuilder* table) { return table->AddRow(line, path, number); });
  };
  TableBuilder table(options);
  RowOrder order(path, options.num_rows);
  const auto merge = [&](BlockRows<TableBuilder> part) -> Status {
    RETURN_IF_ERROR(order.Admit(part));
    RETURN_IF_ERROR(table.Append(std::move(part.rows), path, part.first_line));
    return part.error;
  };
  RETURN_IF_ERROR(ForEachBlock(path, reading, parse, merge));

  RETURN_IF_ERROR(order.AtEnd());
  return std::move(table).Finish(options.shape);
}

Result<std::vector<uint64_t>> ReadCsvIds(const std::string& path, uint64_t limit) {
  std::vector<uint64_t> ids;
  RETURN_IF_ERROR(ForEachLine(path, [&](std::string_view line, const LineReader& reader) -> Status {
    ASSIGN_OR_RETURN(const uint64_t id, ParseId(line, limit, "number", path, reader.line()));
    ids.push_back(id);
    return {};
  }));
  return ids;
}

Result<CsvEdges> ReadCsvEdges(const std::string& path, const CsvEdgeLimits& limits, const BlockReading& reading) {
  constexpr uint64_t kNarrow = uint64_t{1} << 32;
  const bool narrow = limits.num_sources <= kNarrow && limits.num_destinations <= kNarrow;
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
