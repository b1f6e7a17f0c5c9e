// Writes the partitions of a test graph to files.
#pragma once

#include <string>

#include "services/graph/source_graph.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::client::testing {

using storage::TemporaryFolder;

// Partitions `source` as ServedGraph does and writes it into a new folder with the manifest of a partitioning with this
// key. Returns the URI of the folder. Aborts the process after an error.
std::string WritePartitions(const graph::SourceGraph& source, uint32_t num_partitions, const std::string& folder,
                            const std::string& key);

}  // namespace espalier::client::testing
