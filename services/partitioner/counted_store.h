// Counts the bytes of objects that a process reads from stores and writes to them. Files that are mapped in place are
// not read through the store, so they are not counted.
#pragma once

#include "services/storage/open_store.h"
#include "services/telemetry/metrics.h"

namespace espalier::partitioner {

struct ByteCounters {
  telemetry::Counter read, written;
};

// Returns an opener that opens the stores of `open`, wrapped so that successful reads and writes add their bytes to
// `bytes`. The registry of the counters must outlive the stores.
storage::StoreOpener CountBytes(storage::StoreOpener open, ByteCounters bytes);

}  // namespace espalier::partitioner
