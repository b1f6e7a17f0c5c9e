#include "services/storage/object_store.h"

#include <algorithm>

namespace espalier::storage {

Status ObjectStore::ReadRange(const std::string& key, ByteRange range, std::span<std::byte> out) {
  ESPALIER_CHECK(out.size() == range.length) << out.size() << " bytes for a range of " << range.length;
  ASSIGN_OR_RETURN(const std::string bytes, GetRange(key, range));
  std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), out.size(), out.data());
  return Status();
}

Status ObjectStore::ReadRangeOfVersion(const std::string& key, const std::string& etag, ByteRange range,
                                       std::span<std::byte> out) {
  RETURN_IF_ERROR(ReadRange(key, range, out));
  if (etag.empty()) return Status();
  // Checks the version after the read: if it matches now, the bytes are of this version.
  ASSIGN_OR_RETURN(const ObjectInfo object, Head(key));
  if (object.etag == etag) return Status();
  return Aborted("reading " + Describe() + "/" + key + ": the object was replaced during the read");
}

Status ObjectStore::DeleteMany(std::span<const std::string> keys) {
  for (const std::string& key : keys) RETURN_IF_ERROR(Delete(key));
  return Status();
}

}  // namespace espalier::storage
