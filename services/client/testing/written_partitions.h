// A test graph's partitions as files.
#pragma once

#include <string>

#include "services/graph/source_graph.h"

namespace espalier::client::testing {

// Goes with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Cuts `source` as ServedGraph does and writes it into a new folder, with the manifest of a partitioning of that key.
// The folder's URI. Fails the process where that is not possible: a test's own mistake.
std::string WritePartitions(const graph::SourceGraph& source, uint32_t num_partitions, const std::string& folder,
                            const std::string& key);

}  // namespace espalier::client::testing
