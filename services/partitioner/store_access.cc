#include "services/partitioner/store_access.h"

#include <utility>

#include "services/storage/cache/local_cache.h"
#include "services/storage/file_uri.h"

namespace espalier::partitioner {

CLI::Validator LocalPath() {
  const auto change = [](std::string& value) -> std::string {
    Result<std::string> path = storage::ToLocalPath(value);
    if (!path.ok()) return path.status().message();
    value = *std::move(path);
    return "";
  };
  return CLI::Validator(change, /*validator_desc=*/"");
}

void AddCacheFlags(CLI::App* app, CacheFlags* flags) {
  app->add_option("--data-dir", flags->folder, "Folder for copies of remote files; default: the user's cache")
      ->envname("ESPALIER_DATA_DIR")
      ->transform(LocalPath());
  app->add_option("--cache-size", flags->max_bytes, "Maximum bytes of copies in --data-dir, e.g. 20GiB; 0: no limit")
      ->envname("ESPALIER_CACHE_SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->capture_default_str();
}

Result<format::SourceAccess> MakeSourceAccess(const EnvironmentMap& environment, const CacheFlags& flags,
                                              std::shared_ptr<storage::RequestMetrics> metrics) {
  ASSIGN_OR_RETURN(storage::StoreSettings settings, storage::ParseStoreSettings(environment));
  settings.s3.metrics = std::move(metrics);
  format::SourceAccess access;
  access.open_store = storage::OpenerWith(std::move(settings));
  access.cache = {.folder = flags.folder.empty() ? storage::DefaultCacheFolder(environment) : flags.folder,
                  .max_bytes = flags.max_bytes};
  return access;
}

format::LoadOptions LoadOptionsFor(const format::SourceAccess& access) {
  format::LoadOptions options;
  options.data_dir = access.cache.folder;
  options.cache_bytes = access.cache.max_bytes;
  options.parallel_requests = access.parallel_requests;
  return options;
}

}  // namespace espalier::partitioner
