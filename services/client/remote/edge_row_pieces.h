// Reads rows of an edge column of one partition in pieces that fit into messages.
#pragma once

#include <span>

#include "espalier/graph/v1/graph.pb.h"
#include "services/graph/ids.h"
#include "services/rpc/callee.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

struct EdgeRowsQuery {
  rpc::Callee callee;
  graph::v1::GatherEdgeRowsRequest header;
  std::span<const GlobalEdgeId> edges;  // of the server's partition; must outlive the query
  size_t reply_bytes_per_call = 0;      // positive
  size_t calls_in_flight = 0;           // positive
};

// Calls `done` with the rows [edges.size(), row shape...] in the order of the edges. Only the server knows the size of
// a row, so a few rows are read first, or a single row if a few exceed the size limit of a response. The size of these
// rows determines how many rows each further call reads. ResourceExhausted: a single row exceeds this limit.
void RequestEdgeRows(EdgeRowsQuery row_query, Deadline deadline, sampler::Done<Tensor> done);

}  // namespace espalier::client
