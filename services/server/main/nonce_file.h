// Proof of a shared file system: a file that only processes of this host and user can read.
#pragma once

#include <optional>
#include <string>

#include "services/base/status.h"
#include "services/storage/file_lock.h"

namespace espalier::server {

// Holds a random text at a random name, readable by its owner only; removed with this object. It is locked, so that
// those that killed processes have left can be told apart: whoever makes one in their folder removes them.
class NonceFile {
 public:
  static Result<NonceFile> Create(const std::string& folder);
  NonceFile(NonceFile&& other) noexcept;
  NonceFile& operator=(NonceFile&&) = delete;
  ~NonceFile();

  const std::string& path() const { return path_; }    // absolute
  const std::string& nonce() const { return nonce_; }  // the file's contents

 private:
  NonceFile(std::string path, std::string nonce, storage::FileLock lock);
  std::string path_;
  std::string nonce_;
  storage::FileLock lock_;
};

// Returns a nonce in `data_dir`, or in the user's scratch folder where that is empty; nothing, with a warning in the
// log, where it cannot be written: then clients read over the network instead of mapping files.
std::optional<NonceFile> OfferNonce(const std::string& data_dir);

}  // namespace espalier::server
