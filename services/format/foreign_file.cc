#include "services/format/foreign_file.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "services/format/safetensors.h"

namespace espalier::format {
namespace {

constexpr size_t kDirectoryBytes = size_t{4} << 20;

bool IsPickle(std::string_view file) {
  // The opcode PROTO and a version.
  return file.size() > 2 && file[0] == '\x80' && file[1] >= 2 && file[1] <= 5;
}

bool IsSafetensors(std::string_view file) {
  if (file.size() <= kSafetensorsLengthBytes || file[kSafetensorsLengthBytes] != '{') return false;
  uint64_t header_bytes = 0;
  for (size_t i = 0; i < kSafetensorsLengthBytes; ++i) {
    header_bytes |= uint64_t{static_cast<unsigned char>(file[i])} << (8 * i);
  }
  return header_bytes <= file.size() - kSafetensorsLengthBytes;
}

}  // namespace

FileKind DetectFileKind(std::span<const std::byte> bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (IsSafetensors(file)) return FileKind::kSafetensors;  // first: its header's length may begin as a pickle does
  if (file.starts_with("PK\x03\x04")) {
    // The directory at the end of an archive has the names as they are.
    const std::string_view directory = file.substr(file.size() - std::min(file.size(), kDirectoryBytes));
    if (directory.find("constants.pkl") != std::string_view::npos) return FileKind::kTorchScript;
    return directory.find("data.pkl") != std::string_view::npos ? FileKind::kTorchSave : FileKind::kZip;
  }
  if (file.starts_with("\x93NUMPY")) return FileKind::kNpy;
  if (file.starts_with("\x89HDF\r\n")) return FileKind::kHdf5;
  return IsPickle(file) ? FileKind::kPickle : FileKind::kUnknown;
}

std::string NameOf(FileKind kind) {
  switch (kind) {
    case FileKind::kUnknown: return "";
    case FileKind::kTorchSave: return "a file of torch.save";
    case FileKind::kTorchScript: return "a TorchScript archive (torch.jit.save)";
    case FileKind::kPickle: return "a pickle (torch.save before PyTorch 1.6)";
    case FileKind::kZip: return "a zip archive";
    case FileKind::kNpy: return "a .npy array";
    case FileKind::kHdf5: return "an HDF5 file";
    case FileKind::kSafetensors: return "a safetensors file";
  }
  return "";
}

}  // namespace espalier::format
