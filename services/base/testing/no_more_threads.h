// Simulates a system that starts no more threads because a container's or a user's limit is reached.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "services/base/check.h"

namespace espalier {

// During the lifetime of an object, starting a thread with the default stack size fails with EAGAIN: the default is
// larger than any address space. Not thread-safe.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_attr_t attributes;
    ESPALIER_CHECK(pthread_getattr_default_np(&attributes) == 0);
    ESPALIER_CHECK(pthread_attr_getstacksize(&attributes, &usual_) == 0);
    pthread_attr_destroy(&attributes);
    SetStack(size_t{1} << 47);
  }
  ~NoMoreThreads() { SetStack(usual_); }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  static void SetStack(size_t bytes) {
    pthread_attr_t attributes;
    ESPALIER_CHECK(pthread_attr_init(&attributes) == 0);
    ESPALIER_CHECK(pthread_attr_setstacksize(&attributes, bytes) == 0);
    ESPALIER_CHECK(pthread_setattr_default_np(&attributes) == 0);
    pthread_attr_destroy(&attributes);
  }

  size_t usual_ = 0;
};

}  // namespace espalier
