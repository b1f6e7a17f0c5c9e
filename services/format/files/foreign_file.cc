#include "services/format/files/foreign_file.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "services/format/files/safetensors.h"

namespace espalier::format {
namespace {

std::string_view ToText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool IsPickle(std::string_view file) {
  // The opcode PROTO, followed by the protocol version.
  return file.size() > 2 && file[0] == '\x80' && file[1] >= 2 && file[1] <= 5;
}

bool IsSafetensors(std::string_view head, uint64_t size_bytes) {
  if (head.size() <= kSafetensorsLengthBytes || head[kSafetensorsLengthBytes] != '{') return false;
  uint64_t header_bytes = 0;
  for (size_t i = 0; i < kSafetensorsLengthBytes; ++i) {
    header_bytes |= uint64_t{static_cast<unsigned char>(head[i])} << (8 * i);
  }
  return header_bytes <= size_bytes - kSafetensorsLengthBytes;
}

// Looks for names of members in the directory at the end of the archive, where they are not compressed.
FileKind DetectZipKind(std::string_view tail) {
  if (tail.find("PK\x05\x06") == std::string_view::npos) return FileKind::kTruncatedZip;
  if (tail.find("constants.pkl") != std::string_view::npos) return FileKind::kTorchScript;
  return tail.find("data.pkl") != std::string_view::npos ? FileKind::kTorchSave : FileKind::kZip;
}

}  // namespace

FileKind DetectFileKind(const FileEnds& ends) {
  const std::string_view head = ToText(ends.head);
  // Check safetensors first: the length of its header may begin with the same bytes as a pickle.
  if (IsSafetensors(head, ends.size_bytes)) return FileKind::kSafetensors;
  if (head.starts_with("PK\x03\x04")) return DetectZipKind(ToText(ends.tail));
  if (head.starts_with("\x93NUMPY")) return FileKind::kNpy;
  if (head.starts_with("\x89HDF\r\n")) return FileKind::kHdf5;
  return IsPickle(head) ? FileKind::kPickle : FileKind::kUnknown;
}

FileKind DetectFileKind(std::span<const std::byte> file) {
  return DetectFileKind({.head = file.first(std::min(file.size(), FileEnds::kHeadBytes)),
                         .tail = file.last(std::min(file.size(), FileEnds::kTailBytes)),
                         .size_bytes = file.size()});
}

Result<FileKind> DetectFileKind(storage::ObjectStore& store, const std::string& key) {
  ASSIGN_OR_RETURN(const storage::ObjectInfo object, store.Head(key));
  const uint64_t head_bytes = std::min<uint64_t>(object.size_bytes, FileEnds::kHeadBytes);
  const uint64_t tail_bytes = std::min<uint64_t>(object.size_bytes, FileEnds::kTailBytes);
  ASSIGN_OR_RETURN(const std::string head, store.GetRange(key, {0, head_bytes}));
  std::string tail;
  if (head.starts_with("PK")) {
    ASSIGN_OR_RETURN(tail, store.GetRange(key, {object.size_bytes - tail_bytes, tail_bytes}));
  }
  return DetectFileKind({.head = std::as_bytes(std::span(head)),
                         .tail = std::as_bytes(std::span(tail)),
                         .size_bytes = object.size_bytes});
}

std::string ToString(FileKind kind) {
  switch (kind) {
    case FileKind::kUnknown: return "";
    case FileKind::kTorchSave: return "a file of torch.save";
    case FileKind::kTorchScript: return "a TorchScript archive (torch.jit.save)";
    case FileKind::kPickle: return "a pickle (as torch.save wrote before PyTorch 1.6)";
    case FileKind::kZip: return "a zip archive";
    case FileKind::kTruncatedZip: return "a truncated zip archive";
    case FileKind::kNpy: return "a .npy array";
    case FileKind::kHdf5: return "an HDF5 file";
    case FileKind::kSafetensors: return "a safetensors file";
  }
  return "";
}

}  // namespace espalier::format
