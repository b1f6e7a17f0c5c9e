// Lists, whole or in pages: all pages of one list are of one moment.
#pragma once

#include <deque>
#include <string>

#include "operator/client/testing/fake_api_server_store.h"

namespace espalier::ctl::client::fake {

// Thread-safe.
class Lister {
 public:
  explicit Lister(const ObjectStore& store) : store_(store) {}

  HttpResponse List(const ApiRequest& request);
  // What pages were begun are 410 from now on.
  void Forget();

 private:
  struct Snapshot {
    uint64_t id = 0;
    std::shared_ptr<const ObjectStore::Listing> listing;  // what matches
  };
  struct Place {  // where a page begins
    std::shared_ptr<const ObjectStore::Listing> listing;
    uint64_t snapshot = 0;
    size_t offset = 0;
  };
  std::optional<Refusal> Begin(const ApiRequest& request, Place* place);
  std::optional<Refusal> Continue(const ApiRequest& request, const std::string& token, Place* place);
  std::optional<Refusal> Take(const ApiRequest& request, ObjectStore::Listing* listing) const;
  uint64_t Keep(std::shared_ptr<const ObjectStore::Listing> listing);

  const ObjectStore& store_;
  Mutex mutex_;
  std::deque<Snapshot> snapshots_ ABSL_GUARDED_BY(mutex_);  // the newest
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace espalier::ctl::client::fake
