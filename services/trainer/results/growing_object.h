// An object in a store, for example the history of a run, that grows by appending while other processes read it.
#pragma once

#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "services/format/partition/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::trainer {

// In a local store each Append extends the file, so that readers can follow it. Other stores cannot append: Flush and
// FlushSoon replace the whole object. The whole content is kept in memory. Owned by one thread.
class GrowingObject {
 public:
  // Creates an empty object, replacing an existing one. `store` must outlive the result.
  static Result<std::unique_ptr<GrowingObject>> Open(storage::ObjectStore& store, const std::string& key);

  // Appends the bytes; in a local store also to the file. Other stores get them with the next flush.
  Status Append(std::string_view bytes);
  // Blocks until everything appended is in the store.
  Status Flush();
  // Starts an upload in the background; does nothing while an earlier upload is in progress. If the upload fails, the
  // next Flush uploads again and returns its own errors.
  void FlushSoon();
  // Returns the size and checksums of everything appended.
  format::FileEntry Entry() const;

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  GrowingObject(storage::ObjectStore& store, std::string key) : store_(store), key_(std::move(key)) {}
  Status PutAll();  // replaces the object by content_
  // Returns false while FlushSoon's upload is in progress. Otherwise records the result of the upload, if there was
  // one, and returns true.
  bool FinishUpload();

  storage::ObjectStore& store_;
  const std::string key_;
  std::string content_;
  size_t bytes_in_store_ = 0;
  std::unique_ptr<std::FILE, Closer> file_;  // the open file in a local store; null for other stores
  size_t bytes_in_upload_ = 0;
  std::future<Status> upload_;  // last member: its destructor waits for the upload, which uses the other members
};

}  // namespace espalier::trainer
