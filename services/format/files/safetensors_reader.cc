// Parses untrusted safetensors files. The header is limited to 100 MB and 4 levels of nesting and must be strict JSON.
// Each tensor must have exactly the bytes of its dtype and shape, and all tensors together must cover the data without
// gaps and overlaps. The tensors are views of the file, without a copy.
#include <algorithm>
#include <tuple>

#include "services/format/files/foreign_file.h"
#include "services/format/files/safetensors.h"
#include "services/format/files/strict_json.h"

namespace espalier::format {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // as in the reference implementation
constexpr int kMaxHeaderDepth = 4;

struct Entry {
  std::string name;
  DType dtype = DType::kU8;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // byte offsets in the data
};

// Rejects known formats of other programs. For files of torch.save and pickle, the message has a remedy.
Status CheckKind(std::span<const std::byte> bytes) {
  const FileKind kind = DetectFileKind(bytes);
  if (kind == FileKind::kUnknown || kind == FileKind::kSafetensors) return Status();
  const bool is_torch = kind == FileKind::kTorchSave || kind == FileKind::kPickle;
  return InvalidArgument("this is " + ToString(kind) + ": expected a safetensors file" +
                         (is_torch ? "; Python writes one with safetensors.torch.save_file" : ""));
}

// Returns the length of the header of a file of `size_bytes`. `bytes` has at least the first 8 bytes of the file, or
// the whole file if it is shorter.
Result<uint64_t> ReadHeaderLength(std::span<const std::byte> bytes, uint64_t size_bytes) {
  if (size_bytes < kSafetensorsLengthBytes) {
    return DataLoss("expected at least 8 bytes of a safetensors file, found " + std::to_string(size_bytes));
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kSafetensorsLengthBytes; ++i) length |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  if (length > kMaxHeaderBytes) {
    return DataLoss("the header length is " + std::to_string(length) + " bytes, more than the " +
                    std::to_string(kMaxHeaderBytes) + " that are allowed");
  }
  if (length > size_bytes - kSafetensorsLengthBytes) {
    return DataLoss("the header length is " + std::to_string(length) + " bytes, but only " +
                    std::to_string(size_bytes - kSafetensorsLengthBytes) + " bytes follow the length");
  }
  return length;
}

Status MetadataFrom(const json& value, std::map<std::string, std::string>* metadata) {
  if (!value.is_object()) return DataLoss("__metadata__ is not an object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return DataLoss("__metadata__ '" + key + "' is not a string");
    (*metadata)[key] = text.get<std::string>();
  }
  return Status();
}

// Returns a number, which must be in [0, 2^63).
Result<uint64_t> NumberFrom(const json& value, const std::string& what) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() >> 63 != 0) {
    return DataLoss(what + " is not a number from 0 to 2^63 - 1");
  }
  return value.get<uint64_t>();
}

Status ShapeFrom(const json& value, std::vector<int64_t>* shape) {
  if (!value.is_array()) return DataLoss("shape is not an array");
  for (const json& dimension : value) {
    ASSIGN_OR_RETURN(const uint64_t length, NumberFrom(dimension, "a dimension of the shape"));
    shape->push_back(static_cast<int64_t>(length));
  }
  return Status();
}

Result<Entry> EntryFrom(const std::string& name, const json& value) {
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets")) {
    return DataLoss("expected an object of dtype, shape and data_offsets");
  }
  Entry entry;
  entry.name = name;
  if (!value["dtype"].is_string()) return DataLoss("dtype is not a string");
  const Result<DType> dtype = DTypeFromName(value["dtype"].get<std::string>());
  if (!dtype.ok()) return DataLoss("dtype " + dtype.status().message());
  entry.dtype = *dtype;
  RETURN_IF_ERROR(ShapeFrom(value["shape"], &entry.shape));
  const json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) return DataLoss("data_offsets is not an array of two numbers");
  ASSIGN_OR_RETURN(entry.begin, NumberFrom(offsets[0], "the start of data_offsets"));
  ASSIGN_OR_RETURN(entry.end, NumberFrom(offsets[1], "the end of data_offsets"));
  if (entry.end < entry.begin) return DataLoss("data_offsets end before they begin");

  const Result<int64_t> count = CheckedElementCount(entry.shape, ItemSize(entry.dtype));
  if (!count.ok()) return DataLoss(count.status().message());
  const uint64_t size_bytes = static_cast<uint64_t>(*count) * ItemSize(entry.dtype);
  if (size_bytes != entry.end - entry.begin) {
    return DataLoss("dtype and shape make " + std::to_string(size_bytes) + " bytes, but data_offsets have " +
                    std::to_string(entry.end - entry.begin));
  }
  return entry;
}

// Sorts the entries by offset and checks that the tensors cover the data without gaps and overlaps.
Status SortAndCheckCover(std::vector<Entry>* entries, uint64_t data_bytes) {
  std::sort(entries->begin(), entries->end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t covered = 0;
  for (const Entry& entry : *entries) {
    if (entry.begin != covered) {
      return DataLoss("tensor '" + entry.name + "' starts at data offset " + std::to_string(entry.begin) +
                      ", expected " + std::to_string(covered) + ": tensors leave a hole or overlap");
    }
    covered = entry.end;
  }
  if (covered == data_bytes) return Status();
  return DataLoss("the header describes " + std::to_string(covered) + " bytes of data, the file has " +
                  std::to_string(data_bytes));
}

struct FileHeader {
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;  // sorted by offset
};

// Parses the header. `data_bytes` is the number of bytes after the header.
Result<FileHeader> HeaderFrom(std::string_view text, uint64_t data_bytes) {
  const Result<json> parsed = ParseStrictJson(text, kMaxHeaderDepth);
  if (!parsed.ok()) return DataLoss("safetensors header: " + parsed.status().message());
  if (!parsed->is_object()) return DataLoss("the safetensors header is not a JSON object");
  FileHeader header;
  for (const auto& [name, value] : parsed->items()) {
    if (name == "__metadata__") {
      RETURN_IF_ERROR(MetadataFrom(value, &header.metadata));
      continue;
    }
    ASSIGN_OR_RETURN(Entry entry, EntryFrom(name, value).While("tensor '" + name + "'"));
    header.entries.push_back(std::move(entry));
  }
  RETURN_IF_ERROR(SortAndCheckCover(&header.entries, data_bytes));
  return header;
}

}  // namespace

Result<std::map<std::string, std::string>> ReadSafetensorsMetadata(storage::ObjectStore& store,
                                                                   const std::string& key) {
  ASSIGN_OR_RETURN(const storage::ObjectInfo object, store.Head(key));
  const uint64_t first_bytes = std::min<uint64_t>(object.size_bytes, kSafetensorsLengthBytes);
  ASSIGN_OR_RETURN(const std::string first, store.GetRange(key, {0, first_bytes}));
  ASSIGN_OR_RETURN(const uint64_t header_bytes, ReadHeaderLength(std::as_bytes(std::span(first)), object.size_bytes));
  ASSIGN_OR_RETURN(const std::string text, store.GetRange(key, {kSafetensorsLengthBytes, header_bytes}));
  ASSIGN_OR_RETURN(FileHeader header, HeaderFrom(text, object.size_bytes - kSafetensorsLengthBytes - header_bytes));
  return std::move(header.metadata);
}

Result<Safetensors> ReadSafetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  RETURN_IF_ERROR(CheckKind(bytes));
  ASSIGN_OR_RETURN(const uint64_t header_bytes, ReadHeaderLength(bytes, bytes.size()));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kSafetensorsLengthBytes, header_bytes);
  const std::span<const std::byte> data = bytes.subspan(kSafetensorsLengthBytes + header_bytes);
  ASSIGN_OR_RETURN(FileHeader header, HeaderFrom(text, data.size()));

  Safetensors content;
  content.metadata = std::move(header.metadata);
  for (Entry& entry : header.entries) {
    const std::byte* const at = data.data() + entry.begin;
    if (reinterpret_cast<uintptr_t>(at) % ItemSize(entry.dtype) != 0) {
      return DataLoss("tensor '" + entry.name + "' is not aligned to its element size");
    }
    content.tensors[entry.name] = Tensor::Wrap(entry.dtype, std::move(entry.shape), at, owner);
  }
  return content;
}

}  // namespace espalier::format
