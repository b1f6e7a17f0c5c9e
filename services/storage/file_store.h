// An object store in a local folder: each object is a file. A file appears under its name only when it is complete: it
// is written under a temporary name (".espalier-...", which List omits), synced and renamed. List removes temporary
// files that killed processes have left, if their last write is more than an hour ago.
#pragma once

#include <filesystem>

#include "services/storage/object_store.h"

namespace espalier::storage {

// Thread-safe, also with several processes on the same folder.
class FileStore final : public ObjectStore {
 public:
  // The folder does not have to exist; the first Put creates it.
  explicit FileStore(std::filesystem::path root) : root_(std::move(root)) {}

  std::string Describe() const override { return "file://" + root_.string(); }
  Result<ObjectInfo> Head(const std::string& key) override;
  Result<std::string> Get(const std::string& key) override;
  Result<std::string> GetRange(const std::string& key, ByteRange range) override;
  Result<std::unique_ptr<ObjectWriter>> Put(const std::string& key) override;
  Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) override;
  Result<std::vector<ObjectInfo>> List(const std::string& prefix) override;
  Status Delete(const std::string& key) override;
  std::optional<std::string> LocalPath(const std::string& key) override;

 private:
  Result<std::filesystem::path> ToPath(const std::string& key) const;
  void RemoveEmptyFolders(std::filesystem::path folder) const;

  const std::filesystem::path root_;
};

}  // namespace espalier::storage
