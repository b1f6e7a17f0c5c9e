// Threads that serve an object as long as it lives.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

namespace espalier {

// Starts `count` threads, at least one, which run `body`. Where the system gives no further one, `end` tells those that
// run to end, and std::system_error is thrown as by std::jthread: a constructor that is left so has no destructor that
// would tell them, and they would be joined for ever.
template <class Body, class End>
void StartThreads(std::vector<std::jthread>& threads, int count, const Body& body, const End& end) {
  try {
    for (int i = 0; i < std::max(1, count); ++i) threads.emplace_back(body);
  } catch (...) {
    end();
    throw;
  }
}

}  // namespace espalier
