// One try at writing a partitioning into a store. Tries at once do no harm: each writes below its own name, and
// the manifest, put where none is, names the winner.
#pragma once

#include <optional>
#include <string>

#include "services/base/exit_code.h"
#include "services/format/manifest.h"
#include "services/storage/object_store.h"
#include "services/storage/open_store.h"

namespace espalier::partitioner {

// The manifest at `<prefix>/manifest.json` if there is one and all its files exist with their sizes. DataLoss names
// a file that is missing or cut; other errors are the store's and the manifest's own.
Result<std::optional<format::Manifest>> FindPartitioning(storage::ObjectStore& store, const std::string& prefix);

// Returns the error of a store that cannot answer whether it holds an object below `place`, as of a bucket that does
// not exist or a wrong scheme. `use` is what the place is for, in the message: "partitions".
Status CheckPlace(const storage::StoreLocation& place, const std::string& use);

// Returns the exit code of partitioning the graph at `source_uri` that ended with `failure`: where the source's store
// does not answer at all, its URI is wrong (64) and not the graph (65).
ExitCode ExitCodeOfFailure(const Status& failure, const std::string& source_uri,
                           const storage::StoreOpener& open_store);

// A name that no other try has.
std::string NewAttemptName();

// Deletes the files below `<prefix>/<attempt>/` when it goes, unless they were kept. One thread at a time.
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

// Deletes the objects whose keys start with `start`. Errors are logged: nobody reads files that no manifest names.
void DeleteLeftovers(storage::ObjectStore& store, const std::string& start);

// After a commit: deletes what other tries left below `prefix`. They cannot win any more, and one that still runs
// finds the manifest and takes it. Errors are not the caller's concern: the partitioning is there.
void DeleteOtherAttempts(storage::ObjectStore& store, const std::string& prefix, const std::string& winner);

}  // namespace espalier::partitioner
