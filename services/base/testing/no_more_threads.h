// A system that gives no further thread, as where a container's or a user's limit of them is reached.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "services/base/check.h"

namespace espalier {

// While one lives, threads of this process that are started without a stack of their own fail as by EAGAIN: no address
// space holds the stack that they ask for. For one thread at a time.
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
