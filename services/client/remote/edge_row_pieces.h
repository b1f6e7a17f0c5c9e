// Rows of an edge column of one server, in pieces that a message holds.
#pragma once

#include <span>

#include "espalier/graph/v1/graph.pb.h"
#include "services/graph/ids.h"
#include "services/rpc/callee.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

struct EdgeRowsQuestion {
  rpc::Callee callee;
  graph::v1::GatherEdgeRowsRequest header;
  std::span<const GlobalEdgeId> edges;  // of the server's partition; they outlive the question
  size_t reply_bytes_per_call = 0;      // more than 0, as calls_in_flight
  size_t calls_in_flight = 0;
};

// [edges, row shape...]. Only the server knows how wide a row is, so the first few are asked for before all others, and
// where even these are more than it answers at once, one. ResourceExhausted: a single row is.
void AskForEdgeRows(EdgeRowsQuestion question, Deadline deadline, sampler::Done<Tensor> done);

}  // namespace espalier::client
