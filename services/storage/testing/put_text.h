// Writes objects from strings.
#pragma once

#include <span>
#include <string>

#include "services/storage/object_store.h"

namespace espalier::storage {

inline std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

inline Status PutText(ObjectStore& store, const std::string& key, const std::string& text) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer, store.Put(key));
  RETURN_IF_ERROR(writer->Write(BytesOf(text)));
  return writer->Commit();
}

}  // namespace espalier::storage
