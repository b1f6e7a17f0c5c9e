// All objects of the fake server, the global version counter, and the garbage collector, which runs within the call
// that causes the collection.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "operator/client/testing/fake_api_server_object.h"
#include "operator/client/testing/fake_api_server_watch.h"
#include "operator/client/testing/fake_api_server_writes.h"
#include "operator/kube/time.h"
#include "services/base/mutex.h"

namespace espalier::ctl::client::fake {

// Thread-safe.
class ObjectStore {
 public:
  ObjectStore(size_t history_per_kind, std::function<kube::WallTime()> wall_now);

  StoredPtr Find(const KindTraits& kind, const kube::ObjectKey& key) const;  // null if there is none
  struct Listing {
    std::vector<StoredPtr> objects;  // in order of keys
    uint64_t version = 0;
  };
  Listing List(const KindTraits& kind, const std::string& name_space) const;  // "": all
  size_t Count(const KindTraits& kind) const;
  uint64_t newest() const { return newest_.load(); }

  struct Outcome {
    std::optional<Refusal> refusal;
    StoredPtr object;         // as stored, or with a dry run as it would be stored
    bool is_created = false;  // it did not exist before
    bool is_gone = false;     // for a deletion: the object was removed immediately
  };
  Outcome Write(const ApiRequest& request);  // create, replace, patch, apply
  Outcome Delete(const ApiRequest& request);

  // Stores the object as changed by `make`, which gets null if there is no object and returns false to store nothing.
  // Returns whether the object was stored. Ignores finalizers and owners.
  bool Force(const KindTraits& kind, const kube::ObjectKey& key, const std::function<bool(kube::Json* object)>& make);
  bool Remove(const KindTraits& kind, const kube::ObjectKey& key);

  // Opens a watch for changes after `version`; null if that version is too old. With version 0 the watch starts with
  // all current objects as ADDED.
  std::unique_ptr<LineStream> Watch(const KindTraits& kind, uint64_t version, WatchSettings settings);
  const std::vector<std::shared_ptr<History>>& histories() const { return histories_; }

 private:
  using Place = std::pair<size_t, kube::ObjectKey>;  // index of the kind, key
  struct Shelf {
    const KindTraits* kind = nullptr;
    std::map<kube::ObjectKey, StoredPtr> objects;
  };
  struct Removal {
    kube::Propagation propagation = kube::Propagation::kBackground;
    std::optional<int64_t> grace_seconds;
  };

  static size_t NumberOf(const KindTraits& kind);
  StoredPtr At(const Place& place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  OwnedObject Load(size_t kind, const StoredObject& stored) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  NewObject Fresh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Stores `after` in place of `before` (null: none) with a new version and generation, unless they are equal. An
  // object that is being deleted is removed when its last finalizer is gone.
  StoredPtr Commit(size_t kind, const StoredPtr& before, const OwnedObject* before_object, OwnedObject after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Publish(size_t kind, StoredPtr before, StoredPtr after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Delete(const Place& place, const Removal& removal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // true: removed
  void Erase(const Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void CollectDependents(const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OrphanDependents(const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectIfAbandoned(const Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishForeground(const std::string& owner_uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropOwner(const Place& place, const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<kube::WallTime()> wall_now_;
  std::atomic<uint64_t> newest_{1};                  // all histories are complete up to this version
  std::vector<std::shared_ptr<History>> histories_;  // by index of the kind; fixed after construction
  mutable Mutex mutex_;
  std::vector<Shelf> shelves_ ABSL_GUARDED_BY(mutex_);
  FieldPaths paths_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Place> by_uid_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::set<Place>> by_owner_ ABSL_GUARDED_BY(mutex_);  // by the owner's uid
  uint64_t num_uids_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::ctl::client::fake
