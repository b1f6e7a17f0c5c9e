// An object that is written bit by bit while others look at it: a record of what a run has done so far.
#pragma once

#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "services/format/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::trainer {

// On a local store the file grows with each Append, for those who follow it. Elsewhere objects do not grow: they are
// put anew as a whole by Flush and FlushSoon. All of it is kept in memory. Owned by one thread.
class GrowingObject {
 public:
  // Puts an empty object, over whatever was there. `store` outlives this.
  static Result<std::unique_ptr<GrowingObject>> Open(storage::ObjectStore& store, const std::string& key);

  Status Append(std::string_view bytes);
  // What was appended is in the store afterwards.
  Status Flush();
  // Begins to put it, without waiting for the store; does nothing while an earlier put is under way. What goes wrong is
  // the next Flush's to mend or to report.
  void FlushSoon();
  // Size and checksums of what was appended.
  format::FileEntry Entry() const;

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  GrowingObject(storage::ObjectStore& store, std::string key) : store_(store), key_(std::move(key)) {}
  Status PutAll();
  // Whether FlushSoon's put has ended; notes how.
  bool Settle();

  storage::ObjectStore& store_;
  const std::string key_;
  std::string content_;
  size_t bytes_in_store_ = 0;
  std::unique_ptr<std::FILE, Closer> file_;  // of a local store
  size_t bytes_under_way_ = 0;
  std::future<Status> under_way_;  // last: waited for before the rest goes away
};

}  // namespace espalier::trainer
