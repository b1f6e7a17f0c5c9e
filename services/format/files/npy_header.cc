// The header is a Python dictionary literal with the keys 'descr', 'fortran_order' and 'shape'. LiteralReader scans the
// few literals that NumPy writes; anything else is an error. For arrays that cannot be read (objects, big-endian,
// Fortran order, text), the message names the NumPy call that converts them.
#include "services/format/files/npy_header.h"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace espalier::format {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxNpyHeaderBytes = 1 << 20;
constexpr size_t kMaxDimensions = 32;

struct DescrEntry {
  std::string_view descr;
  DType dtype;
};
constexpr std::array<DescrEntry, 12> kDescrs = {{{"|b1", DType::kBool},
                                                 {"|u1", DType::kU8},
                                                 {"|i1", DType::kI8},
                                                 {"<i2", DType::kI16},
                                                 {"<u2", DType::kU16},
                                                 {"<i4", DType::kI32},
                                                 {"<u4", DType::kU32},
                                                 {"<i8", DType::kI64},
                                                 {"<u8", DType::kU64},
                                                 {"<f2", DType::kF16},
                                                 {"<f4", DType::kF32},
                                                 {"<f8", DType::kF64}}};

// Reads the subset of Python literals that NumPy writes: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  // Skips blanks. If the next character is `expected`, consumes it and returns true.
  bool Take(char expected) {
    SkipBlanks();
    if (at_ >= text_.size() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }
  char Peek() {
    SkipBlanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::optional<std::string> TakeString() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool TakeWord(std::string_view word) {
    SkipBlanks();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::optional<int64_t> TakeInteger() {
    SkipBlanks();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    at_ = static_cast<size_t>(end - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // suffix of a Python 2 long
    return value;
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

Result<DType> DTypeFromDescr(const std::string& descr) {
  for (const DescrEntry& entry : kDescrs) {
    if (entry.descr == descr) return entry.dtype;
  }
  const std::string what = "the dtype is '" + descr.substr(0, 40) + "': ";
  const char kind = descr.size() > 1 ? descr[1] : '\0';
  if (kind == 'O') {
    return InvalidArgument(what +
                           "arrays of Python objects (pickles) are not supported; save x.astype('float32') or 'int64'");
  }
  if (kind == 'c') return InvalidArgument(what + "complex numbers are not supported");
  if (kind == 'U' || kind == 'S') {
    return InvalidArgument(what +
                           "text is not supported; save the numbers that numpy.unique(x, return_inverse=True) returns");
  }
  if (kind == 'M' || kind == 'm') return InvalidArgument(what + "dates are not supported; save x.astype('int64')");
  if (!descr.empty() && descr[0] == '>')
    return InvalidArgument(what + "big-endian arrays are not supported; save x.astype('<" + descr.substr(1, 8) + "')");
  return InvalidArgument(what + "expected bool, (u)int8 to (u)int64 or float16 to float64");
}

Result<std::vector<int64_t>> TakeShape(LiteralReader& reader) {
  if (!reader.Take('(')) return InvalidArgument("'shape' is not a tuple");
  std::vector<int64_t> shape;
  while (!reader.Take(')')) {
    const std::optional<int64_t> dimension = reader.TakeInteger();
    if (!dimension || *dimension < 0) return InvalidArgument("'shape' is not a tuple of non-negative numbers");
    shape.push_back(*dimension);
    if (shape.size() > kMaxDimensions) return InvalidArgument("'shape' has more than 32 dimensions");
    if (!reader.Take(',') && reader.Peek() != ')') return InvalidArgument("'shape' is not a tuple of numbers");
  }
  return shape;
}

Result<NpyHeader> ParseDictionary(std::string_view text) {
  LiteralReader reader(text);
  std::optional<DType> dtype;
  std::optional<std::vector<int64_t>> shape;
  bool has_order = false;
  if (!reader.Take('{')) return InvalidArgument("the header is not a dictionary");
  while (!reader.Take('}')) {
    const std::optional<std::string> key = reader.TakeString();
    if (!key || !reader.Take(':')) return InvalidArgument("the header is not a dictionary of text keys");
    if (*key == "descr") {
      if (reader.Peek() == '[') return InvalidArgument("the dtype is a structure: expected one number per element");
      const std::optional<std::string> descr = reader.TakeString();
      if (!descr) return InvalidArgument("'descr' is not text");
      ASSIGN_OR_RETURN(dtype, DTypeFromDescr(*descr));
    } else if (*key == "fortran_order") {
      if (reader.TakeWord("True")) {
        return InvalidArgument("the array is in Fortran order: expected C order; save numpy.ascontiguousarray(x)");
      }
      if (!reader.TakeWord("False")) return InvalidArgument("'fortran_order' is neither True nor False");
      has_order = true;
    } else if (*key == "shape") {
      ASSIGN_OR_RETURN(shape, TakeShape(reader));
    } else {
      return InvalidArgument("the header has an unknown key '" + key->substr(0, 40) + "'");
    }
    if (!reader.Take(',') && reader.Peek() != '}') return InvalidArgument("the header is not a dictionary");
  }
  if (!dtype || !shape || !has_order) return InvalidArgument("the header lacks 'descr', 'fortran_order' or 'shape'");
  return NpyHeader{.dtype = *dtype, .shape = *std::move(shape)};
}

}  // namespace

Result<size_t> NpyDataOffset(std::span<const std::byte> beginning) {
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  if (text.starts_with("PK\x03\x04")) {
    return InvalidArgument(
        "a zip archive, not a .npy file: write the array with numpy.save, or rename the file to .npz and set its "
        "'member' in graph.yaml");
  }
  if (text.starts_with("\x1F\x8B")) return InvalidArgument("a gzip file, not a .npy file: unpack it");
  if (!text.starts_with(kMagic) || text.size() < 10) {
    return InvalidArgument(text.empty() ? "an empty file, not a .npy file" : "not a .npy file");
  }
  const auto byte_at = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  const size_t version = byte_at(6);
  if (version < 1 || version > 3) {
    return InvalidArgument("the .npy version is " + std::to_string(version) + ": expected 1, 2 or 3");
  }
  const size_t prefix = version == 1 ? 10 : 12;
  if (text.size() < prefix) return InvalidArgument("the file ends within the header");
  size_t header_bytes = byte_at(8) | byte_at(9) << 8;
  if (version > 1) header_bytes |= byte_at(10) << 16 | byte_at(11) << 24;
  if (header_bytes > kMaxNpyHeaderBytes) {
    return InvalidArgument("the header says that it has " + std::to_string(header_bytes) +
                           " bytes: expected at most 2^20");
  }
  return prefix + header_bytes;
}

Result<NpyHeader> ParseNpyHeader(std::span<const std::byte> file) {
  ASSIGN_OR_RETURN(const size_t data_offset, NpyDataOffset(file));
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.size() < data_offset) return InvalidArgument("the file ends within the header");
  const size_t prefix = text[6] == 1 ? 10 : 12;
  ASSIGN_OR_RETURN(NpyHeader header, ParseDictionary(text.substr(prefix, data_offset - prefix)));
  header.data_offset = data_offset;
  return header;
}

Status ApplyDeclaredDType(std::optional<DType> declared, NpyHeader* header) {
  if (declared == DType::kBF16 && header->dtype == DType::kU16) header->dtype = DType::kBF16;
  if (!declared || *declared == header->dtype) return Status();
  return InvalidArgument(std::string("the dtype is ") + ToString(header->dtype) + ": expected " + ToString(*declared) +
                         ", as declared");
}

Result<std::string> FormatNpyHeader(DType dtype, const std::vector<int64_t>& shape) {
  constexpr size_t kPrefixBytes = 10;  // magic, version, length of the dictionary
  constexpr size_t kAlignment = 64;
  const DType stored = dtype == DType::kBF16 ? DType::kU16 : dtype;
  std::string dictionary = "{'descr': '";
  for (const DescrEntry& entry : kDescrs) {
    if (entry.dtype == stored) dictionary += entry.descr;
  }
  dictionary += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i) dictionary += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  dictionary += shape.size() == 1 ? ",), }" : "), }";
  // Like NumPy, this appends 64 blanks if the header is already aligned.
  dictionary.append(kAlignment - (kPrefixBytes + dictionary.size() + 1) % kAlignment, ' ');
  dictionary += '\n';
  if (dictionary.size() > 0xFFFF) return InvalidArgument("the tensor has too many dimensions for a .npy 1.0 header");
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xFF);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace espalier::format
