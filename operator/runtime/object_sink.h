// Where a reflector's objects go.
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

// Takes what the reflector delivers. Called by one thread; must not block. Implemented by StoreSink<T>.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // InvalidArgument for an object that is not what it should be: logged once per object, counted, left out; what is
  // known of it stays as it was.
  virtual Status OnObject(const kube::Json& object) = 0;  // new or changed
  // An empty uid is any.
  virtual void OnDeleted(const kube::ObjectKey& key, const std::string& uid) = 0;
  virtual std::vector<std::pair<kube::ObjectKey, std::string>> Known() const = 0;  // keys and uids
};

// Parses into Store<T> and calls `changed(before, after)` (either may be null, not both) afterwards. An object that
// was deleted and made again between two looks is told as both: changed(old, null), changed(null, new).
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
