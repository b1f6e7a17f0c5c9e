// Counts the bytes of objects that a process reads from stores and writes to them. Files that are mapped in place are
// not read through the store, so they are not counted.
#pragma once

#include "services/storage/open_store.h"
#include "services/telemetry/metrics.h"

namespace espalier::partitioner {

struct StoreBytes {
  telemetry::Counter read, written;
};

// Returns an opener whose stores are those of `open` and add the bytes of successful reads and writes to `bytes`. The
// registry of the counters must outlive the stores.
storage::StoreOpener Counting(storage::StoreOpener open, StoreBytes bytes);

}  // namespace espalier::partitioner
