// Deletion in ObjectStore: grace periods, finalizers, and garbage collection by owner references, which runs within the
// call that deletes the owner. Foreground deletion uses the finalizer of the real server: the owner is erased after its
// last dependent.
#include <algorithm>

#include "operator/client/testing/fake_api_server_store.h"

namespace espalier::ctl::client::fake {
namespace {

using kube::Json;

constexpr char kForeground[] = "foregroundDeletion";
constexpr int64_t kDefaultGraceSeconds = 30;

// Returns the grace period of a deletion in seconds. It is 0 for a pod that has ended or is on no node.
int64_t GracePeriod(const KindTraits& kind, const Json& object, std::optional<int64_t> requested) {
  if (!kind.ends_gracefully) return 0;
  const std::string phase = kube::StringAt(object, {"status", "phase"});
  if (kube::StringAt(object, {"spec", "nodeName"}).empty() || phase == "Succeeded" || phase == "Failed") return 0;
  const int64_t own = kube::IntegerAt(object, {"spec", "terminationGracePeriodSeconds"}).value_or(kDefaultGraceSeconds);
  const int64_t grace = std::max<int64_t>(0, requested.value_or(own));
  const std::optional<int64_t> before = kube::IntegerAt(object, {"metadata", "deletionGracePeriodSeconds"});
  return before ? std::min(*before, grace) : grace;
}

bool HasFinalizer(const Json& object, const std::string& name) {
  const Json& finalizers = kube::ListAt(object, {"metadata", "finalizers"});
  return std::find(finalizers.begin(), finalizers.end(), Json(name)) != finalizers.end();
}

void DropFinalizer(const std::string& name, Json* object) {
  Json kept = Json::array();
  for (const Json& finalizer : kube::ListAt(*object, {"metadata", "finalizers"})) {
    if (finalizer != Json(name)) kept.push_back(finalizer);
  }
  (*object)["metadata"]["finalizers"] = std::move(kept);
}

}  // namespace

bool ObjectStore::Delete(const Place& place, const Removal& removal) {
  const StoredPtr before = At(place);
  if (before == nullptr) return true;
  const KindTraits& kind = *shelves_[place.first].kind;
  const OwnedObject loaded = Load(place.first, *before);
  OwnedObject after = loaded;
  Json& metadata = after.object["metadata"];
  const int64_t grace = GracePeriod(kind, after.object, removal.grace_seconds);
  if (removal.propagation == kube::Propagation::kOrphan) OrphanDependents(before->uid);
  if (removal.propagation == kube::Propagation::kForeground && !HasFinalizer(after.object, kForeground)) {
    if (!metadata["finalizers"].is_array()) metadata["finalizers"] = Json::array();
    metadata["finalizers"].push_back(kForeground);
  }
  if (grace == 0 && kube::ListAt(after.object, {"metadata", "finalizers"}).empty()) {
    Erase(place);
    return true;
  }
  const std::optional<int64_t> grace_before = kube::IntegerAt(metadata, {"deletionGracePeriodSeconds"});
  if (!metadata.contains("deletionTimestamp") || grace_before.value_or(0) != grace) {
    metadata["deletionTimestamp"] = kube::FormatTime(wall_now_() + std::chrono::seconds(grace));
    metadata["deletionGracePeriodSeconds"] = grace;
  }
  Commit(place.first, before, &loaded, std::move(after));
  if (removal.propagation == kube::Propagation::kForeground) {
    CollectDependents(before->uid);
    FinishForeground(before->uid);
  }
  return At(place) == nullptr;
}

void ObjectStore::Erase(const Place& place) {
  const StoredPtr before = At(place);
  if (before == nullptr) return;
  const uint64_t version = newest_.load() + 1;
  OwnedObject last = Load(place.first, *before);
  StoredPtr after = MakeStored(*shelves_[place.first].kind, version, std::move(last.object), {});
  shelves_[place.first].objects.erase(place.second);
  by_uid_.erase(before->uid);
  for (const std::string& uid : before->owner_uids) by_owner_[uid].erase(place);
  histories_[place.first]->Append({kube::WatchEventType::kDeleted, std::move(after), before});
  newest_.store(version);
  CollectDependents(before->uid);
  by_owner_.erase(before->uid);
  for (const std::string& uid : before->owner_uids) FinishForeground(uid);
}

void ObjectStore::CollectDependents(const std::string& uid) {
  const auto found = by_owner_.find(uid);
  if (found == by_owner_.end()) return;
  const std::set<Place> dependents = found->second;  // a copy, because the loop changes the set
  for (const Place& place : dependents) {
    const StoredPtr dependent = At(place);
    if (dependent == nullptr) continue;
    const bool has_other = std::any_of(dependent->owner_uids.begin(), dependent->owner_uids.end(),
                                       [&](const std::string& other) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                                         return other != uid && by_uid_.contains(other);
                                       });
    if (has_other) {
      DropOwner(place, uid);
    } else {
      Delete(place, {});
    }
  }
}

void ObjectStore::OrphanDependents(const std::string& uid) {
  const auto found = by_owner_.find(uid);
  if (found == by_owner_.end()) return;
  const std::set<Place> dependents = found->second;
  for (const Place& place : dependents) DropOwner(place, uid);
}

void ObjectStore::CollectIfAbandoned(const Place& place) {
  const StoredPtr stored = At(place);
  if (stored == nullptr || stored->owner_uids.empty()) return;
  const bool has_owner =
      std::any_of(stored->owner_uids.begin(), stored->owner_uids.end(),
                  [&](const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return by_uid_.contains(uid); });
  if (!has_owner) Delete(place, {});
}

void ObjectStore::FinishForeground(const std::string& owner_uid) {
  const auto owner = by_uid_.find(owner_uid);
  if (owner == by_uid_.end()) return;
  const auto dependents = by_owner_.find(owner_uid);
  if (dependents != by_owner_.end() && !dependents->second.empty()) return;
  const Place place = owner->second;
  const StoredPtr stored = At(place);
  const OwnedObject before = Load(place.first, *stored);
  if (!HasFinalizer(before.object, kForeground)) return;
  OwnedObject after = before;
  DropFinalizer(kForeground, &after.object);
  Commit(place.first, stored, &before, std::move(after));
}

void ObjectStore::DropOwner(const Place& place, const std::string& uid) {
  const StoredPtr stored = At(place);
  if (stored == nullptr) return;
  const OwnedObject before = Load(place.first, *stored);
  OwnedObject after = before;
  Json kept = Json::array();
  for (const Json& owner : kube::ListAt(before.object, {"metadata", "ownerReferences"})) {
    if (kube::StringAt(owner, {"uid"}) != uid) kept.push_back(owner);
  }
  if (kept.empty()) {
    after.object["metadata"].erase("ownerReferences");
  } else {
    after.object["metadata"]["ownerReferences"] = std::move(kept);
  }
  Commit(place.first, stored, &before, std::move(after));
}

}  // namespace espalier::ctl::client::fake
