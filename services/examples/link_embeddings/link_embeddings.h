// A user program that learns node embeddings from links (docs/learnable-rows.md). It uses an edge data loader, a
// distributed embedding and a distributed tensor, and saves the embedding and the tensor after each epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/base/status.h"
#include "espalier/client/dist_graph.h"
#include "espalier/collective/collective.h"
#include "espalier/storage/store_settings.h"

namespace example {

struct LinkOptions {
  std::string split = "links";  // name of an edge split
  uint32_t epochs = 20;
  std::string folder;   // path or s3:// URI where rank 0 saves the state after each epoch; empty: nowhere
  bool resume = false;  // resume from the newest save in `folder`; false: remove earlier saves
  espalier::storage::StoreSettings stores;  // for an s3:// URI
};

struct LinkResult {
  std::vector<double> losses;  // mean over the links, per epoch, including the epochs before a resume
  int64_t ends_counted = 0;    // endpoints counted: two per link and epoch
  std::vector<float> rows;     // [nodes, 16] in the order of original ids
};

// Learns the embeddings of a graph with one node type and one edge type. All ranks of `group` must call it, and it
// returns the same result on each. NotFound if the graph does not have the split.
espalier::Result<LinkResult> LearnLinks(const espalier::client::DistGraph& graph,
                                        espalier::collective::Collective& group, const LinkOptions& options);

}  // namespace example
