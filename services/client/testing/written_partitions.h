// Writes the partitions of a test graph to files.
#pragma once

#include <string>

#include "services/graph/source_graph.h"

namespace espalier::client::testing {

// A temporary folder; the destructor removes it with its contents.
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

// Partitions `source` as ServedGraph does and writes it into a new folder with the manifest of a partitioning with this
// key. Returns the URI of the folder. Aborts the process after an error.
std::string WritePartitions(const graph::SourceGraph& source, uint32_t num_partitions, const std::string& folder,
                            const std::string& key);

}  // namespace espalier::client::testing
