// Serves lists as a whole or in pages. All pages of a list are from one snapshot.
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
  // Drops all snapshots: further pages of current lists get 410.
  void Forget();

 private:
  struct Snapshot {
    uint64_t id = 0;
    std::shared_ptr<const ObjectStore::Listing> listing;  // objects that match the selectors
  };
  struct Place {  // start of a page
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
  std::deque<Snapshot> snapshots_ ABSL_GUARDED_BY(mutex_);  // oldest first
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace espalier::ctl::client::fake
