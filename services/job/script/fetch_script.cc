#include "services/job/script/fetch_script.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <span>

#include "services/base/make_folder.h"
#include "services/base/sha256.h"
#include "services/job/script/unpack_archive.h"
#include "services/telemetry/process.h"

namespace espalier::script {
namespace fs = std::filesystem;

Result<ScriptFile> ReadScript(const std::string& uri, const storage::StoreOpener& open_store) {
  ASSIGN_OR_RETURN(const storage::StoreLocation location, storage::LocateFile(uri, open_store));
  ASSIGN_OR_RETURN(const storage::ObjectInfo info, location.store->Head(location.prefix));
  if (info.size_bytes == 0) return FailedPrecondition(uri + " is empty: expected a script");
  if (info.size_bytes > kMaxScriptBytes) {
    return FailedPrecondition(uri + " has " + std::to_string(info.size_bytes) +
                              " bytes: expected a script of at most " + std::to_string(kMaxScriptBytes));
  }
  ScriptFile file{.name = location.prefix.substr(location.prefix.rfind('/') + 1),
                  .bytes = std::string(info.size_bytes, '\0'),
                  .sha256 = {}};
  RETURN_IF_ERROR(location.store->ReadRangeOfVersion(location.prefix, info.etag,
                                                     {.offset = 0, .length = info.size_bytes},
                                                     std::as_writable_bytes(std::span(file.bytes))));
  file.sha256 = Sha256Hex(file.bytes);
  return file;
}

Status CheckScriptDigest(const ScriptFile& file, const std::string& shown, const std::string& expected_sha256) {
  if (expected_sha256.empty() || file.sha256 == expected_sha256) return Status();
  return FailedPrecondition(shown + " has SHA-256 " + file.sha256 + ", but the job expects " + expected_sha256 +
                            ": restore the expected file, or start a new job to run this one");
}

Status PutScript(const ScriptFile& file, const std::string& shown, const std::string& entrypoint,
                 const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  if (entrypoint.empty()) {
    const std::string path = folder + "/" + file.name;
    RETURN_IF_ERROR(telemetry::WriteFileAtomically(path, file.bytes));
    return chmod(path.c_str(), 0644) == 0 ? Status() : FromErrno(errno, path);
  }
  RETURN_IF_ERROR(UnpackArchive(file.bytes, shown, folder));
  std::error_code error;
  if (fs::is_regular_file(folder + "/" + entrypoint, error)) return Status();
  return InvalidArgument(shown + ": the archive has no file '" + entrypoint +
                         "', its entrypoint: expected a path as `tar --list` and `unzip -l` show it");
}

}  // namespace espalier::script
