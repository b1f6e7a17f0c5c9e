// How a command reaches what its URIs name: the environment's store settings, and the folder for local copies.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "services/base/environment.h"
#include "services/format/partition_files.h"
#include "services/format/source/source_files.h"
#include "services/storage/request_metrics.h"

namespace espalier::partitioner {

struct CacheFlags {
  std::string folder;      // "": DefaultCacheFolder of the environment
  uint64_t max_bytes = 0;  // 0: no limit
};

// For flags that name a folder or file of this machine: "file:///a" becomes "/a". Refuses URIs of other schemes, which
// would otherwise name a local folder "s3:".
CLI::Validator LocalPath();

// --data-dir and --cache-size (a number of bytes, or "20GiB").
void AddCacheFlags(CLI::App* app, CacheFlags* flags);

// InvalidArgument names the environment's variable that is wrong. `metrics` counts requests to S3; null: nobody does.
Result<format::SourceAccess> MakeSourceAccess(const EnvironmentMap& environment, const CacheFlags& flags,
                                              std::shared_ptr<storage::RequestMetrics> metrics = nullptr);

// Options to load partitions with; everything else at its default.
format::LoadOptions LoadOptionsFor(const format::SourceAccess& access);

}  // namespace espalier::partitioner
