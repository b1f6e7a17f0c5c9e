// One mutex serializes all writes, so that versions are ordered over all kinds. A write loads the stored object,
// computes the new one (fake_api_server_writes.h), and commits it: Commit sets generation and version and appends to
// the history of the kind. newest_ grows only after the history has the change, so that a watch never misses one.
#include "operator/client/testing/fake_api_server_store.h"

#include <algorithm>
#include <cstdio>

#include "services/base/philox.h"

namespace espalier::ctl::client::fake {
namespace {

using kube::Json;

// Returns true if a field other than metadata and status differs.
bool IsSpecChanged(const Json& a, const Json& b) {
  const auto differs = [](const Json& one, const Json& other) {
    for (const auto& [name, value] : one.items()) {
      if (name == "metadata" || name == "status") continue;
      const auto found = other.find(name);
      if (found == other.end() || *found != value) return true;
    }
    return false;
  };
  return differs(a, b) || differs(b, a);
}

bool IsBeingDeleted(const Json& object) { return kube::Find(object, {"metadata", "deletionTimestamp"}) != nullptr; }

bool IsDeletable(const Json& object) {
  return IsBeingDeleted(object) && kube::ListAt(object, {"metadata", "finalizers"}).empty() &&
         kube::IntegerAt(object, {"metadata", "deletionGracePeriodSeconds"}).value_or(0) == 0;
}

}  // namespace

ObjectStore::ObjectStore(size_t history_per_kind, std::function<kube::WallTime()> wall_now)
    : wall_now_(std::move(wall_now)) {
  MutexLock lock(&mutex_);
  for (const KindTraits& kind : AllKinds()) {
    shelves_.push_back({&kind, {}});
    histories_.push_back(std::make_shared<History>(kind, history_per_kind, newest_));
  }
}

size_t ObjectStore::NumberOf(const KindTraits& kind) { return static_cast<size_t>(&kind - AllKinds().data()); }

StoredPtr ObjectStore::At(const Place& place) const {
  const auto& objects = shelves_[place.first].objects;
  const auto found = objects.find(place.second);
  return found == objects.end() ? nullptr : found->second;
}

StoredPtr ObjectStore::Find(const KindTraits& kind, const kube::ObjectKey& key) const {
  MutexLock lock(&mutex_);
  return At({NumberOf(kind), key});
}

ObjectStore::Listing ObjectStore::List(const KindTraits& kind, const std::string& name_space) const {
  MutexLock lock(&mutex_);
  Listing listing{.version = newest_.load()};
  const auto& objects = shelves_[NumberOf(kind)].objects;
  auto it = name_space.empty() ? objects.begin() : objects.lower_bound({name_space, ""});
  for (; it != objects.end() && (name_space.empty() || it->first.name_space == name_space); ++it) {
    listing.objects.push_back(it->second);
  }
  return listing;
}

size_t ObjectStore::Count(const KindTraits& kind) const {
  MutexLock lock(&mutex_);
  return shelves_[NumberOf(kind)].objects.size();
}

OwnedObject ObjectStore::Load(size_t kind, const StoredObject& stored) const {
  return {ParsedOf(*shelves_[kind].kind, stored), stored.owners};
}

NewObject ObjectStore::Fresh() {
  const auto words = Philox4x32(/*key=*/0x75696473, num_uids_++, 0);
  char uid[40];
  std::snprintf(uid, sizeof(uid), "%08x-%04x-4%03x-a%03x-%04x%08x", words[0], words[1] >> 16, words[1] & 0xfff,
                words[2] >> 20, words[2] & 0xffff, words[3]);
  return {uid, kube::FormatTime(wall_now_())};
}

ObjectStore::Outcome ObjectStore::Write(const ApiRequest& request) {
  ApiRequest create;  // used if PUT creates the object
  const ApiRequest* requested = &request;
  MutexLock lock(&mutex_);
  Place place{NumberOf(*request.kind), request.key};
  const StoredPtr before = At(place);
  std::optional<OwnedObject> loaded;
  if (before != nullptr) loaded = Load(place.first, *before);
  Outcome outcome;
  OwnedObject after;
  const bool replaces = request.verb == Verb::kReplace || request.verb == Verb::kMergePatch;
  if (before == nullptr && request.verb == Verb::kReplace && request.kind->creates_by_replace) {
    create = request;
    create.verb = Verb::kCreate;
    if (create.body.is_object() && create.body.contains("metadata") && create.body["metadata"].is_object()) {
      create.body["metadata"].erase("resourceVersion");
    }
    requested = &create;
  }
  if (requested->verb == Verb::kCreate) {
    if (before != nullptr) {
      Refusal exists = NotFoundRefusal(request.resource(), request.key.name);
      exists.code = 409;
      exists.reason = "AlreadyExists";
      exists.message = exists.message.substr(0, exists.message.rfind("not found")) + "already exists";
      outcome.refusal = std::move(exists);
    } else {
      outcome.refusal = Create(*requested, Fresh(), paths_, &after);
    }
  } else if (replaces && before == nullptr) {
    outcome.refusal = NotFoundRefusal(request.resource(), request.key.name);
  } else if (replaces) {
    outcome.refusal = Replace(request, *loaded, paths_, &after);
  } else {
    outcome.refusal = Apply(request, loaded ? &*loaded : nullptr, Fresh(), paths_, &after);
  }
  if (outcome.refusal) return outcome;
  outcome.is_created = before == nullptr;
  if (request.dry_run()) {
    outcome.object = MakeStored(*request.kind, newest_.load(), std::move(after.object), {});
    return outcome;
  }
  outcome.object = Commit(place.first, before, loaded ? &*loaded : nullptr, std::move(after));
  CollectIfAbandoned(place);
  return outcome;
}

StoredPtr ObjectStore::Commit(size_t kind, const StoredPtr& before, const OwnedObject* before_object,
                              OwnedObject after) {
  const KindTraits& traits = *shelves_[kind].kind;
  if (before != nullptr && before_object->object == after.object && before_object->owners == after.owners) {
    return before;
  }
  if (traits.has_generation) {
    int64_t generation = 1;
    if (before != nullptr) {
      const bool begins_to_end = IsBeingDeleted(after.object) && !IsBeingDeleted(before_object->object);
      generation = kube::IntegerAt(before_object->object, {"metadata", "generation"}).value_or(0);
      if (begins_to_end || IsSpecChanged(before_object->object, after.object)) ++generation;
    }
    after.object["metadata"]["generation"] = generation;
  }
  const bool may_go = before != nullptr && IsDeletable(after.object);
  StoredPtr stored = MakeStored(traits, newest_.load() + 1, std::move(after.object), std::move(after.owners));
  Publish(kind, before, stored);
  if (may_go) Erase({kind, stored->key});
  return stored;
}

void ObjectStore::Publish(size_t kind, StoredPtr before, StoredPtr after) {
  const Place place{kind, after->key};
  if (before != nullptr) {
    for (const std::string& uid : before->owner_uids) by_owner_[uid].erase(place);
  }
  by_uid_[after->uid] = place;
  for (const std::string& uid : after->owner_uids) by_owner_[uid].insert(place);
  shelves_[kind].objects[after->key] = after;
  const uint64_t version = after->version;
  const auto type = before == nullptr ? kube::WatchEventType::kAdded : kube::WatchEventType::kModified;
  histories_[kind]->Append({type, std::move(after), std::move(before)});
  newest_.store(version);
}

ObjectStore::Outcome ObjectStore::Delete(const ApiRequest& request) {
  MutexLock lock(&mutex_);
  const Place place{NumberOf(*request.kind), request.key};
  const StoredPtr stored = At(place);
  if (stored == nullptr) return {.refusal = NotFoundRefusal(request.resource(), request.key.name)};
  if (std::optional<Refusal> refusal = CheckDelete(request, ParsedOf(*request.kind, *stored))) {
    return {.refusal = std::move(refusal)};
  }
  Removal removal{request.kind->default_propagation, kube::IntegerAt(request.body, {"gracePeriodSeconds"})};
  const std::string named = kube::StringAt(request.body, {"propagationPolicy"});
  if (named == "Background") removal.propagation = kube::Propagation::kBackground;
  if (named == "Foreground") removal.propagation = kube::Propagation::kForeground;
  if (named == "Orphan") removal.propagation = kube::Propagation::kOrphan;
  if (request.dry_run() || kube::Find(request.body, {"dryRun"}) != nullptr) return {.object = stored};
  const bool is_gone = Delete(place, removal);
  return {.object = is_gone ? stored : At(place), .is_gone = is_gone};
}

bool ObjectStore::Force(const KindTraits& kind, const kube::ObjectKey& key, const std::function<bool(Json*)>& make) {
  MutexLock lock(&mutex_);
  const Place place{NumberOf(kind), key};
  const StoredPtr before = At(place);
  std::optional<OwnedObject> loaded;
  if (before != nullptr) loaded = Load(place.first, *before);
  OwnedObject after = loaded.value_or(OwnedObject());
  if (!make(before != nullptr ? &after.object : &(after.object = Json()))) return false;
  const NewObject fresh = Fresh();
  Json& metadata = after.object["metadata"];
  metadata["uid"] = before != nullptr                           ? before->uid
                    : kube::StringAt(metadata, {"uid"}).empty() ? fresh.uid
                                                                : kube::StringAt(metadata, {"uid"});
  if (!metadata.contains("creationTimestamp")) metadata["creationTimestamp"] = fresh.created_at;
  if (before != nullptr) metadata["resourceVersion"] = std::to_string(before->version);
  for (const Part part : {Part::kMain, Part::kStatus}) {
    RecordChange(paths_, loaded ? loaded->object : Json(), "controller", part, &after);
  }
  Commit(place.first, before, loaded ? &*loaded : nullptr, std::move(after));
  return true;
}

bool ObjectStore::Remove(const KindTraits& kind, const kube::ObjectKey& key) {
  MutexLock lock(&mutex_);
  const Place place{NumberOf(kind), key};
  if (At(place) == nullptr) return false;
  Erase(place);
  return true;
}

std::unique_ptr<LineStream> ObjectStore::Watch(const KindTraits& kind, uint64_t version, WatchSettings settings) {
  MutexLock lock(&mutex_);
  const size_t number = NumberOf(kind);
  std::vector<StoredPtr> initial;
  if (version == 0) {
    version = newest_.load();
    for (const auto& [key, object] : shelves_[number].objects) {
      const bool is_here = settings.name_space.empty() || key.name_space == settings.name_space;
      if (is_here && settings.selectors.Match(*object)) initial.push_back(object);
    }
  }
  return History::Open(histories_[number], std::move(settings), version, std::move(initial));
}

}  // namespace espalier::ctl::client::fake
