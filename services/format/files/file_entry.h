// A file in a manifest, with its size and checksums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::format {

inline constexpr uint64_t kChecksumBlockBytes = uint64_t{4} << 20;

// One file with a checksum for each block: block_hashes[i] is the XXH3-64 of the kChecksumBlockBytes bytes from offset
// i * kChecksumBlockBytes. The last block may be shorter.
struct FileEntry {
  // In manifests of partitionings and checkpoints: relative to the folder of the manifest. In manifests of outputs:
  // relative to the prefix of the job.
  std::string key;
  uint64_t size_bytes = 0;
  std::vector<uint64_t> block_hashes;
  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

}  // namespace espalier::format
