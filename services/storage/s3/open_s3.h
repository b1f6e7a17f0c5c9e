// Opens the store for "s3://bucket/prefix" and settings.
#pragma once

#include <memory>
#include <string>

#include "services/storage/object_store.h"
#include "services/storage/store_settings.h"

namespace espalier::storage {

// Returns a store of the objects below the prefix of `uri`, which is canonical (CanonicalUri). Stores with equal
// settings share connections and credentials while one of them exists. InvalidArgument for an invalid bucket, prefix or
// setting; FailedPrecondition without credentials. Makes no requests. Thread-safe.
Result<std::shared_ptr<ObjectStore>> OpenS3Store(const std::string& uri, const S3Settings& settings);

}  // namespace espalier::storage
