// Objects as files below a folder. A file appears under its name complete or not at all: it is written to a
// temporary name (".espalier-...", which List leaves out), synced, and renamed. What a killed process has left of that
// goes with the first List that meets it an hour later.
#pragma once

#include <filesystem>

#include "services/storage/object_store.h"

namespace espalier::storage {

// Thread-safe, and safe for several processes on one folder.
class FileStore final : public ObjectStore {
 public:
  // The folder need not exist; it is made when something is put.
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
  Result<std::filesystem::path> PathTo(const std::string& key) const;
  void RemoveEmptyFolders(std::filesystem::path folder) const;

  const std::filesystem::path root_;
};

}  // namespace espalier::storage
