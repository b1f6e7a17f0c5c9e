// A nonce in a file. A client that knows the nonce thereby proves that it shares a file system with the server.
#pragma once

#include <optional>
#include <string>

#include "services/base/status.h"
#include "services/storage/files/file_lock.h"

namespace espalier::server {

// A file with random contents and a random name, which only its owner can read. The destructor removes the file. The
// file is locked while this object exists, so that Create can recognize and remove files that killed processes left in
// the same folder.
class NonceFile {
 public:
  // Makes a file in `folder`, which must exist.
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

// Creates a nonce file in `data_dir`, or in storage::ScratchFolder() if `data_dir` is empty. Returns nullopt and logs a
// warning if the file cannot be written; clients then read over the network instead of mapping files.
std::optional<NonceFile> OfferNonce(const std::string& data_dir);

}  // namespace espalier::server
