// Objects of one kind as typed values, as last seen by a watch. Readers get shared pointers to immutable values.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "operator/kube/object_meta.h"
#include "services/base/mutex.h"

namespace espalier::ctl::runtime {

// A map from keys to values, with an optional index. T must have a member `kube::ObjectMeta meta`. Thread-safe for one
// writer and any number of readers.
template <class T>
class Store {
 public:
  using Value = std::shared_ptr<const T>;
  // Returns the second key of an object, for example the key of the DistTraining that it belongs to; nullopt: none.
  using IndexOf = std::function<std::optional<kube::ObjectKey>(const T&)>;
  explicit Store(IndexOf index_of = {}) : index_of_(std::move(index_of)) {}

  // Returns the value of the key, or null.
  Value Get(const kube::ObjectKey& key) const {
    MutexLock lock(&mutex_);
    const auto it = values_.find(key);
    return it == values_.end() ? nullptr : it->second;
  }

  // Returns the values whose IndexOf is `index`, in order of their keys.
  std::vector<Value> ByIndex(const kube::ObjectKey& index) const {
    MutexLock lock(&mutex_);
    const auto it = by_index_.find(index);
    return it == by_index_.end() ? std::vector<Value>() : ToValues(it->second);
  }

  std::vector<Value> All() const {
    MutexLock lock(&mutex_);
    return ToValues(values_);
  }

  size_t size() const {
    MutexLock lock(&mutex_);
    return values_.size();
  }

  // Stores the value and returns the previous value of its key, or null.
  Value Put(T value) {
    auto after = std::make_shared<const T>(std::move(value));
    const std::optional<kube::ObjectKey> index = index_of_ ? index_of_(*after) : std::nullopt;
    MutexLock lock(&mutex_);
    Value before = TakeOut(after->meta.key);
    if (index) by_index_[*index].emplace(after->meta.key, after);
    values_.emplace(after->meta.key, std::move(after));
    return before;
  }

  // Removes the value of the key and returns it, or null.
  Value Remove(const kube::ObjectKey& key) {
    MutexLock lock(&mutex_);
    return TakeOut(key);
  }

 private:
  using Values = std::map<kube::ObjectKey, Value>;

  static std::vector<Value> ToValues(const Values& values) {
    std::vector<Value> all;
    all.reserve(values.size());
    for (const auto& [key, value] : values) all.push_back(value);
    return all;
  }

  Value TakeOut(const kube::ObjectKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto it = values_.find(key);
    if (it == values_.end()) return nullptr;
    Value value = std::move(it->second);
    values_.erase(it);
    const std::optional<kube::ObjectKey> index = index_of_ ? index_of_(*value) : std::nullopt;
    if (!index) return value;
    const auto group = by_index_.find(*index);
    group->second.erase(key);
    if (group->second.empty()) by_index_.erase(group);
    return value;
  }

  const IndexOf index_of_;
  mutable Mutex mutex_;
  Values values_ ABSL_GUARDED_BY(mutex_);
  std::map<kube::ObjectKey, Values> by_index_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::runtime
