// Starts the threads of an object, which run until the object is destroyed.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

namespace espalier {

// Starts `count` threads (at least one) that run `body`. If the system cannot start another thread, calls `end`, which
// must make the running threads return, and rethrows the std::system_error of std::jthread. Without `end`, a
// constructor that exits with this exception would join its threads and never return: the class's destructor, which
// otherwise ends them, does not run.
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
