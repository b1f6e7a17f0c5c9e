// Which partitioning a user means.
#pragma once

#include <memory>
#include <string>

#include "services/format/manifest.h"
#include "services/storage/open_store.h"

namespace espalier::cli {

struct PartitionPlace {
  std::shared_ptr<storage::ObjectStore> store;
  std::string prefix;  // with manifest.json
  std::string uri;     // of the same, for messages
  format::Manifest manifest;
};

// `uri` names a partitioning (a folder with manifest.json), or a folder that holds exactly one; NotFound lists what
// is there otherwise.
Result<PartitionPlace> OpenPartitioning(const std::string& uri, const storage::StoreOpener& open_store);

}  // namespace espalier::cli
