#include "services/storage/files/scratch_folder.h"

#include <filesystem>
#include <system_error>

namespace espalier::storage {

Result<std::string> ScratchFolder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder.string();
  return FailedPrecondition("no folder for temporary files (TMPDIR, TMP, TEMP, TEMPDIR or /tmp): " + error.message());
}

}  // namespace espalier::storage
