// Fetches the script of a user's program: reads it, compares it with a digest and puts it into a folder. `espalier run`
// does so before it starts anything, `espalier fetch-script` in a pod's init container.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/status.h"
#include "services/storage/open_store.h"

namespace espalier::script {

// The size of the largest file or archive that is read.
inline constexpr uint64_t kMaxScriptBytes = uint64_t{64} << 20;

struct ScriptFile {
  std::string name;  // last part of its path or URI
  std::string bytes;
  std::string sha256;  // of `bytes`, 64 hexadecimal digits
};

// Reads the file or object at `uri`, a path, "file:" or "s3://bucket/key", by a store that `open_store` opens.
// InvalidArgument where the URI names no file; FailedPrecondition where it is empty or has more than kMaxScriptBytes
// bytes; otherwise errors of the store.
Result<ScriptFile> ReadScript(const std::string& uri, const storage::StoreOpener& open_store);

// FailedPrecondition, with both digests, where `file` is not the one that was expected. Messages call it `shown`. An
// empty `expected_sha256` allows any.
Status CheckScriptDigest(const ScriptFile& file, const std::string& shown, const std::string& expected_sha256);

// Puts `file` into `folder`, which is made if it is missing: under its own name, or, with an `entrypoint`, unpacked
// (unpack_archive.h). Every user can read what is put there. InvalidArgument where the archive lacks the entrypoint.
Status PutScript(const ScriptFile& file, const std::string& shown, const std::string& entrypoint,
                 const std::string& folder);

}  // namespace espalier::script
