// Finds the partitioning that a URI on the command line refers to.
#pragma once

#include <memory>
#include <string>

#include "services/format/partition/manifest.h"
#include "services/storage/open_store.h"

namespace espalier::cli {

struct PartitionPlace {
  std::shared_ptr<storage::ObjectStore> store;
  std::string prefix;  // the folder of manifest.json
  std::string uri;     // the same folder, for messages
  format::Manifest manifest;
};

// Opens the partitioning at `uri`: a folder with manifest.json, or the parent folder of exactly one such folder.
// NotFound if there is no partitioning; InvalidArgument, with the URI of each, if there are several.
Result<PartitionPlace> OpenPartitioning(const std::string& uri, const storage::StoreOpener& open_store);

}  // namespace espalier::cli
