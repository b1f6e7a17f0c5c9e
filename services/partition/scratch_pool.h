// Reuses the scratch memory of the threads of a parallel loop.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "services/base/mutex.h"

namespace espalier::partition {

// Lends objects of type T, one to each running range of a parallel loop. Must outlive its leases. Thread-safe.
template <class T>
class ScratchPool {
 public:
  class Lease {
   public:
    Lease(ScratchPool* pool, std::unique_ptr<T> object) : pool_(pool), object_(std::move(object)) {}
    ~Lease() { pool_->TakeBack(std::move(object_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    T& operator*() const { return *object_; }
    T* operator->() const { return object_.get(); }

   private:
    ScratchPool* const pool_;
    std::unique_ptr<T> object_;
  };

  // Returns an object that no other lease holds, in the state that its last lease left. Creates one if there is none.
  Lease Borrow() {
    {
      const MutexLock lock(&mutex_);
      if (!free_.empty()) {
        std::unique_ptr<T> object = std::move(free_.back());
        free_.pop_back();
        return Lease(this, std::move(object));
      }
    }
    return Lease(this, std::make_unique<T>());
  }

 private:
  void TakeBack(std::unique_ptr<T> object) {
    const MutexLock lock(&mutex_);
    free_.push_back(std::move(object));
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace espalier::partition
