// One attempt to write a partitioning into a store. Concurrent attempts are safe: each attempt writes below its own
// name, and the manifest, which is created only if none exists, names the attempt that won.
#pragma once

#include <optional>
#include <string>

#include "services/format/partition/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::partitioner {

// Returns the manifest at `<prefix>/manifest.json`, or nullopt if there is none. DataLoss names a file of the
// partitioning that is missing or has the wrong size; other errors are those of the store and of ReadManifest.
Result<std::optional<format::Manifest>> FindPartitioning(storage::ObjectStore& store, const std::string& prefix);

// Returns a random name that no other attempt has: "attempt-" and 16 hexadecimal digits.
std::string NewAttemptName();

// Deletes the files below `<prefix>/<attempt>/` in its destructor, unless Keep was called after the last Discard. Not
// thread-safe.
class AttemptFiles {
 public:
  AttemptFiles(storage::ObjectStore& store, std::string prefix, std::string attempt);
  ~AttemptFiles();
  AttemptFiles(const AttemptFiles&) = delete;
  AttemptFiles& operator=(const AttemptFiles&) = delete;

  void Keep() { keep_ = true; }
  void Discard() { keep_ = false; }

 private:
  storage::ObjectStore& store_;  // outlives this
  const std::string prefix_;
  const std::string attempt_;
  bool keep_ = false;
};

// Deletes the objects whose keys start with `start`. Errors are only logged: without a manifest that names them, the
// files are never read.
void DeleteLeftovers(storage::ObjectStore& store, const std::string& start);

// Deletes the files of all attempts below `prefix` except `winner`. Called after the winner's manifest is committed:
// other attempts cannot win any more, and an attempt that is still running finds the manifest and reuses it. Errors are
// only logged, because the partitioning is complete.
void DeleteOtherAttempts(storage::ObjectStore& store, const std::string& prefix, const std::string& winner);

}  // namespace espalier::partitioner
