// Rows of nodes, learned from links on every rank of a program: a loader of edges, an embedding and a tensor beside it,
// and what is saved of both after each epoch, as docs/learnable-rows.md shows it.
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
  std::string split = "links";  // of the edges, by name
  uint32_t epochs = 20;
  std::string folder;                       // a path or s3:// URI: rank 0 saves there after each epoch; empty: nowhere
  bool goes_on = false;                     // from what was saved there last; else that is removed
  espalier::storage::StoreSettings stores;  // of an s3:// URI
};

struct LinkResult {
  std::vector<double> losses;  // of each epoch, those of earlier runs too: the mean over its links
  int64_t ends_counted = 0;    // two for each link of each of these epochs
  std::vector<float> rows;     // [nodes, 16] in the order of original ids
};

// With every rank of `group`, of which this is one, over a graph of one node type and one relation; NotFound where it
// has no such split. The same result on every rank.
espalier::Result<LinkResult> LearnLinks(const espalier::client::DistGraph& graph,
                                        espalier::collective::Collective& group, const LinkOptions& options);

}  // namespace example
