// From "s3://bucket/prefix" and settings to a store.
#pragma once

#include <memory>
#include <string>

#include "services/storage/object_store.h"
#include "services/storage/store_settings.h"

namespace espalier::storage {

// The objects below the prefix. Stores with equal settings share connections and credentials for as long as one of them
// lives. InvalidArgument for a bucket, prefix or settings that are none, FailedPrecondition without credentials.
// Nothing is contacted. Thread-safe.
Result<std::shared_ptr<ObjectStore>> OpenS3Store(const std::string& uri, const S3Settings& settings);

}  // namespace espalier::storage
