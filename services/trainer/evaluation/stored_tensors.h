// Distributed tensors that all ranks write and read during a pass over the graph. Their rows do not survive a restart
// of the server that stores them.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>

#include "services/collective/collective.h"
#include "services/trainer/data/graph_access.h"

namespace espalier::trainer {

// Converts the status of a call that creates a tensor, or reads or writes one that was created before: NotFound becomes
// DataLoss, because a restarted server must have lost the tensor.
Status NotFoundToDataLoss(Status status);

// Creates a tensor f32 [nodes, width] for each of the types, all under one name. Every rank must call it. It returns
// after all ranks have sent their requests, so that no rank creates a tensor after another rank has written rows: if a
// server had lost the rows in a restart, creating the tensor again would hide the loss. Rank 0 creates the tensors
// first, and the other ranks then find them. This is faster than concurrent requests, of which servers accept one and
// make the others retry.
Status CreateOnAllRanks(const GraphAccess& graph, std::span<const NodeTypeId> types, const std::string& name,
                        int64_t width, collective::Collective& collective, const Timeouts& timeouts);

// Drops tensors, given by node type and name, on rank 0; does nothing on other ranks. Each request has the time limit
// `patience`. After an error, the remaining tensors are still dropped. Returns the first error.
Status DropTensors(const GraphAccess& graph, const std::map<NodeTypeId, std::string>& tensors,
                   const collective::Collective& collective, std::chrono::seconds patience);

}  // namespace espalier::trainer
