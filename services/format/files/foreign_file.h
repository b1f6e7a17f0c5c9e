// Detects the kind of a file from its bytes, so that errors can name the kind and the remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "services/storage/object_store.h"

namespace espalier::format {

enum class FileKind {
  kUnknown,
  kTorchSave,     // a zip archive with data.pkl: torch.save since PyTorch 1.6
  kTorchScript,   // a zip archive with constants.pkl: torch.jit.save
  kPickle,        // torch.save before PyTorch 1.6, and other pickles
  kZip,           // another zip archive: .npz, Keras
  kTruncatedZip,  // a truncated zip archive: its directory is missing
  kNpy,
  kHdf5,
  kSafetensors
};

// The parts of a file from which its kind is detected.
struct FileEnds {
  std::span<const std::byte> head;  // the first kHeadBytes, or the whole file if it is shorter
  std::span<const std::byte> tail;  // the last kTailBytes, or the whole file if it is shorter; used for zip archives
  uint64_t size_bytes = 0;          // of the file

  static constexpr size_t kHeadBytes = 16;
  static constexpr size_t kTailBytes = size_t{4} << 20;  // the directory of a zip archive is there
};

// Returns the kind of a file. Examines its first bytes and, for zip archives, the directory at the end. Never
// unpickles.
FileKind DetectFileKind(const FileEnds& ends);
FileKind DetectFileKind(std::span<const std::byte> file);
// Returns the kind of an object in a store. Reads only its first kHeadBytes and, for zip archives, its last kTailBytes.
Result<FileKind> DetectFileKind(storage::ObjectStore& store, const std::string& key);

// Returns the kind as a noun phrase for messages ("a file of torch.save"); "" for kUnknown.
std::string ToString(FileKind kind);

}  // namespace espalier::format
