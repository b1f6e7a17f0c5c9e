// Receives the objects of a list and watch.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operator/kube/json.h"
#include "operator/runtime/store.h"
#include "services/base/status.h"

namespace espalier::ctl::runtime {

// Receives objects and deletions. Called by one thread; must not block. Implemented by StoreSink<T>.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // Takes a new or changed object. Returns InvalidArgument if it cannot be decoded: the caller logs it once per object
  // and counts it; the previous value, if any, stays.
  virtual Status OnObject(const kube::Json& object) = 0;
  // Removes an object. An empty uid matches any uid.
  virtual void OnDeleted(const kube::ObjectKey& key, const std::string& uid) = 0;
  // Returns the keys and uids of all objects.
  virtual std::vector<std::pair<kube::ObjectKey, std::string>> Known() const = 0;
};

// Parses objects into a Store<T> and then calls `changed(before, after)`; one of the two may be null. If an object
// arrives with another uid than before, its deletion and its creation are reported: changed(old, null), then
// changed(null, new).
template <class T>
class StoreSink final : public ObjectSink {
 public:
  using Value = std::shared_ptr<const T>;
  using Parse = std::function<Result<T>(const kube::Json&)>;
  using Changed = std::function<void(const Value& before, const Value& after)>;
  StoreSink(Store<T>& store, Parse parse, Changed changed)
      : store_(store), parse_(std::move(parse)), changed_(std::move(changed)) {}

  Status OnObject(const kube::Json& object) override {
    ASSIGN_OR_RETURN(T value, parse_(object));
    const kube::ObjectKey key = value.meta.key;
    const Value known = store_.Get(key);
    if (known != nullptr && known->meta.uid != value.meta.uid) OnDeleted(key, known->meta.uid);
    const Value before = store_.Put(std::move(value));
    if (changed_) changed_(before, store_.Get(key));
    return Status();
  }

  void OnDeleted(const kube::ObjectKey& key, const std::string& uid) override {
    const Value known = store_.Get(key);
    if (known == nullptr || (!uid.empty() && known->meta.uid != uid)) return;
    store_.Remove(key);
    if (changed_) changed_(known, nullptr);
  }

  std::vector<std::pair<kube::ObjectKey, std::string>> Known() const override {
    std::vector<std::pair<kube::ObjectKey, std::string>> known;
    for (const Value& value : store_.All()) known.emplace_back(value->meta.key, value->meta.uid);
    return known;
  }

 private:
  Store<T>& store_;  // outlives this
  const Parse parse_;
  const Changed changed_;
};

}  // namespace espalier::ctl::runtime
