// Fetches the script of a user program: reads it, compares it with a digest and writes it to a folder. `espalier run`
// fetches the script before it starts other processes; the init container of a pod runs `espalier fetch-script`.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/status.h"
#include "services/storage/open_store.h"

namespace espalier::script {

// The largest file or archive that ReadScript accepts.
inline constexpr uint64_t kMaxScriptBytes = uint64_t{64} << 20;

struct ScriptFile {
  std::string name;  // last part of the path or URI
  std::string bytes;
  std::string sha256;  // of `bytes`, 64 hexadecimal digits
};

// Reads the file or object at `uri` (a path, a "file:" URI or "s3://bucket/key") from the store that `open_store`
// opens. InvalidArgument if the URI does not end with the name of a file ("code/", "s3://bucket"); FailedPrecondition
// if the file is empty or larger than kMaxScriptBytes; otherwise errors of the store.
Result<ScriptFile> ReadScript(const std::string& uri, const storage::StoreOpener& open_store);

// Returns FailedPrecondition with both digests if the digest of `file` is not `expected_sha256`. An empty
// `expected_sha256` accepts every file. `shown` is the name of the file in messages.
Status CheckScriptDigest(const ScriptFile& file, const std::string& shown, const std::string& expected_sha256);

// Writes `file` to `folder`, which is created if it is missing. With an empty `entrypoint`, writes one file with the
// name file.name; otherwise unpacks the archive (unpack_archive.h). All users can read the result. InvalidArgument if
// the archive has no file `entrypoint`. `shown` is the name of the file in messages.
Status PutScript(const ScriptFile& file, const std::string& shown, const std::string& entrypoint,
                 const std::string& folder);

}  // namespace espalier::script
