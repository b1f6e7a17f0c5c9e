#include "services/format/files/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>

#include "services/base/hash.h"
#include "services/graph/first_violation.h"

namespace espalier::format {

struct HashingWriter::State {
  XXH3_state_t block_hash;
  uint64_t block_bytes = 0;  // in the unfinished block
  uint64_t size_bytes = 0;
  std::vector<uint64_t> block_hashes;

  void Update(std::span<const std::byte> bytes) {
    size_bytes += bytes.size();
    while (!bytes.empty()) {
      const size_t taken = std::min<uint64_t>(bytes.size(), kChecksumBlockBytes - block_bytes);
      XXH3_64bits_update(&block_hash, bytes.data(), taken);
      block_bytes += taken;
      bytes = bytes.subspan(taken);
      if (block_bytes == kChecksumBlockBytes) FinishBlock();
    }
  }

  void FinishBlock() {
    block_hashes.push_back(XXH3_64bits_digest(&block_hash));
    XXH3_64bits_reset(&block_hash);
    block_bytes = 0;
  }
};

HashingWriter::HashingWriter(std::unique_ptr<storage::ObjectWriter> to)
    : to_(std::move(to)), state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->block_hash);
}

HashingWriter::~HashingWriter() = default;

Status HashingWriter::Write(std::span<const std::byte> bytes) {
  state_->Update(bytes);
  return to_->Write(bytes);
}

Status HashingWriter::Commit() { return to_->Commit(); }

FileEntry HashingWriter::Entry(std::string key) {
  if (state_->block_bytes > 0) state_->FinishBlock();
  return {.key = std::move(key), .size_bytes = state_->size_bytes, .block_hashes = state_->block_hashes};
}

storage::ByteRange BlockRange(const FileEntry& entry, uint64_t block) {
  ESPALIER_CHECK(block < entry.block_hashes.size()) << "block " << block << " of " << entry.key;
  const uint64_t offset = block * kChecksumBlockBytes;
  return {.offset = offset, .length = std::min(kChecksumBlockBytes, entry.size_bytes - offset)};
}

Status CheckBlock(const FileEntry& entry, uint64_t block, std::span<const std::byte> bytes, const std::string& where) {
  const uint64_t hash = Hash64(bytes);
  if (hash == entry.block_hashes[block]) return Status();
  return DataLoss(where + ": block " + std::to_string(block) + " (" + std::to_string(bytes.size()) +
                  " bytes at offset " + std::to_string(block * kChecksumBlockBytes) + ") has checksum " + ToHex(hash) +
                  ", expected " + ToHex(entry.block_hashes[block]));
}

Status CheckBlocks(const FileEntry& entry, std::span<const std::byte> bytes, const std::string& where, int threads,
                   const std::function<bool()>& stop_requested) {
  if (bytes.size() != entry.size_bytes) {
    return DataLoss(where + " has " + std::to_string(bytes.size()) + " bytes, expected " +
                    std::to_string(entry.size_bytes));
  }
  const auto bytes_of = [&](uint64_t block) {
    const storage::ByteRange range = BlockRange(entry, block);
    return bytes.subspan(range.offset, range.length);
  };
  const auto num_blocks = static_cast<int64_t>(entry.block_hashes.size());
  std::atomic<bool> is_stopped = false;
  const std::optional<int64_t> bad = graph::FirstViolation(threads, num_blocks, 1, [&](int64_t block) {
    if (stop_requested && stop_requested()) {
      is_stopped = true;
      return true;  // ends the search in all threads
    }
    return Hash64(bytes_of(static_cast<uint64_t>(block))) != entry.block_hashes[static_cast<uint64_t>(block)];
  });
  if (is_stopped) return Cancelled("asked to stop while verifying " + where);
  if (!bad) return Status();
  const auto block = static_cast<uint64_t>(*bad);
  return CheckBlock(entry, block, bytes_of(block), where);
}

}  // namespace espalier::format
