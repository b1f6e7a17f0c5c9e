// XXH3-64 of every 4 MiB block of a file: a flipped bit is found and placed, and a ranged download is verified as it
// arrives.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "services/format/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// Passes bytes on and hashes them on their way. One thread at a time.
class HashingWriter final : public storage::ObjectWriter {
 public:
  explicit HashingWriter(std::unique_ptr<storage::ObjectWriter> to);
  ~HashingWriter() override;

  Status Write(std::span<const std::byte> bytes) override;
  Status Commit() override;
  // Size and hashes of what was written, under `key`. After Commit.
  FileEntry Entry(std::string key);

 private:
  struct State;

  std::unique_ptr<storage::ObjectWriter> to_;
  std::unique_ptr<State> state_;
};

// Bytes [offset, offset + length) of block `block` of a file.
storage::ByteRange BlockRange(const FileEntry& entry, uint64_t block);

// DataLoss names `where`, the block and its offset, the checksum found and the one expected.
Status CheckBlock(const FileEntry& entry, uint64_t block, std::span<const std::byte> bytes, const std::string& where);

// All blocks of a whole file, several at once. The first bad block is the one named. Cancelled: stop_requested (null:
// never), which is asked before each block by any thread, has said true.
Status CheckBlocks(const FileEntry& entry, std::span<const std::byte> bytes, const std::string& where, int threads,
                   const std::function<bool()>& stop_requested = nullptr);

}  // namespace espalier::format
