// Detects the kind of a file from its bytes, so that errors can name the kind and the remedy.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace espalier::format {

enum class FileKind {
  kUnknown,
  kTorchSave,    // a zip archive with data.pkl: torch.save since PyTorch 1.6
  kTorchScript,  // a zip archive with constants.pkl: torch.jit.save
  kPickle,       // torch.save before PyTorch 1.6, and Python's own pickles
  kZip,          // another zip archive: .npz, Keras
  kNpy,
  kHdf5,
  kSafetensors
};

// Looks at the beginning and, of zip archives, at the directory in the last 4 MiB. Never reads a pickle.
FileKind DetectFileKind(std::span<const std::byte> file);

// "a file of torch.save"; "" for kUnknown.
std::string NameOf(FileKind kind);

}  // namespace espalier::format
