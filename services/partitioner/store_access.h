// Access to the stores that a command's URIs name: store settings from the environment, and the folder for local
// copies.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "services/base/environment.h"
#include "services/format/partition/partition_files.h"
#include "services/format/source/source_files.h"
#include "services/storage/request_metrics.h"

namespace espalier::partitioner {

struct CacheFlags {
  std::string folder;      // empty: DefaultCacheFolder of the environment
  uint64_t max_bytes = 0;  // 0: no limit
};

// Returns a validator for flags that name a local folder or file. Converts "file:///a" to "/a" and rejects URIs with
// other schemes; without it, "s3://a" would name a local folder "s3:".
CLI::Validator LocalPath();

// Adds the flags --data-dir and --cache-size (a number of bytes, or "20GiB").
void AddCacheFlags(CLI::App* app, CacheFlags* flags);

// Returns the access that the environment and the flags describe. InvalidArgument names the environment variable that
// is wrong. `metrics` counts requests to S3; null: requests are not counted.
Result<format::SourceAccess> MakeSourceAccess(const EnvironmentMap& environment, const CacheFlags& flags,
                                              std::shared_ptr<storage::RequestMetrics> metrics = nullptr);

// Returns options for loading partitions with the cache and the number of parallel requests of `access`; the other
// options have their defaults.
format::LoadOptions LoadOptionsFor(const format::SourceAccess& access);

}  // namespace espalier::partitioner
