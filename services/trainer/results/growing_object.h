// An object in a store that grows by appending and can be read meanwhile, for example the history of a run.
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
  // Creates an empty object, replacing an existing one. `store` outlives this.
  static Result<std::unique_ptr<GrowingObject>> Open(storage::ObjectStore& store, const std::string& key);

  Status Append(std::string_view bytes);
  // Blocks until everything appended is in the store.
  Status Flush();
  // Starts an upload in the background; does nothing while an earlier upload is in progress. If it fails, the next
  // Flush uploads again and reports errors.
  void FlushSoon();
  // Returns the size and checksums of everything appended.
  format::FileEntry Entry() const;

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  GrowingObject(storage::ObjectStore& store, std::string key) : store_(store), key_(std::move(key)) {}
  Status PutAll();
  // Returns false while FlushSoon's upload is in progress. Otherwise records its result and returns true.
  bool Settle();

  storage::ObjectStore& store_;
  const std::string key_;
  std::string content_;
  size_t bytes_in_store_ = 0;
  std::unique_ptr<std::FILE, Closer> file_;  // the open file in a local store, else null
  size_t bytes_under_way_ = 0;
  std::future<Status> under_way_;  // last member: its destructor waits before the others are destroyed
};

}  // namespace espalier::trainer
