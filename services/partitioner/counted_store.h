// What a process reads from stores and writes to them, in bytes of objects. Files that are mapped where they lie are
// read past the store, and not counted.
#pragma once

#include "services/storage/open_store.h"
#include "services/telemetry/metrics.h"

namespace espalier::partitioner {

struct StoreBytes {
  telemetry::Counter read, written;
};

// Stores as `open` makes them, that count what goes through them. The registry of the counters outlives the stores.
storage::StoreOpener Counting(storage::StoreOpener open, StoreBytes bytes);

}  // namespace espalier::partitioner
