// XXH3-64 checksums of the 4 MiB blocks of a file. A checksum per block locates damage within the file, and allows a
// download in ranges to be verified block by block.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "services/format/files/file_entry.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// Forwards bytes to another writer and hashes them. Thread-compatible.
class HashingWriter final : public storage::ObjectWriter {
 public:
  explicit HashingWriter(std::unique_ptr<storage::ObjectWriter> to);
  ~HashingWriter() override;

  Status Write(std::span<const std::byte> bytes) override;
  Status Commit() override;
  // Returns the entry of the written file, with `key`. Call it after Commit.
  FileEntry Entry(std::string key);

 private:
  struct State;

  std::unique_ptr<storage::ObjectWriter> to_;
  std::unique_ptr<State> state_;
};

// Returns the byte range of block `block`; the last block of a file may be shorter than the others.
storage::ByteRange BlockRange(const FileEntry& entry, uint64_t block);

// Verifies the checksum of `bytes`, the content of one block. DataLoss names the block, its offset, its checksum and
// the expected one. `where` names the file in the message.
Status CheckBlock(const FileEntry& entry, uint64_t block, std::span<const std::byte> bytes, const std::string& where);

// Verifies the size and all blocks of `bytes`, a whole file, on up to `threads` threads. Returns DataLoss if the size
// differs from the entry's, or for the first bad block. `stop_requested`, unless null, is called before each block,
// from any of the threads; Cancelled is returned if it returns true.
Status CheckBlocks(const FileEntry& entry, std::span<const std::byte> bytes, const std::string& where, int threads,
                   const std::function<bool()>& stop_requested = nullptr);

}  // namespace espalier::format
