#include "services/format/source/testing/zip_files.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>

#include "services/base/check.h"

namespace espalier::format::testing {

std::string Zip(const std::vector<std::pair<std::string, std::string>>& members, ZipMethod method) {
  std::string bytes(size_t{1} << 20, '\0');
  for (const auto& [name, content] : members) bytes.resize(bytes.size() + 2 * content.size());
  size_t used = 0;
  archive* const zip = archive_write_new();
  ESPALIER_CHECK(archive_write_set_format_zip(zip) == ARCHIVE_OK);
  archive_write_set_bytes_per_block(zip, 0);
  ESPALIER_CHECK((method == ZipMethod::kStored ? archive_write_zip_set_compression_store(zip)
                                               : archive_write_zip_set_compression_deflate(zip)) == ARCHIVE_OK);
  ESPALIER_CHECK(archive_write_open_memory(zip, bytes.data(), bytes.size(), &used) == ARCHIVE_OK);
  for (const auto& [name, content] : members) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    ESPALIER_CHECK(archive_write_header(zip, entry) == ARCHIVE_OK) << archive_error_string(zip);
    ESPALIER_CHECK(archive_write_data(zip, content.data(), content.size()) == static_cast<la_ssize_t>(content.size()));
    archive_entry_free(entry);
  }
  ESPALIER_CHECK(archive_write_close(zip) == ARCHIVE_OK);
  archive_write_free(zip);
  bytes.resize(used);
  return bytes;
}

}  // namespace espalier::format::testing
