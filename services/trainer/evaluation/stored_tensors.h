// Tensors on the owners of rows that all ranks write and read. They do not survive a restart of their server.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>

#include "services/collective/collective.h"
#include "services/trainer/data/graph_access.h"

namespace espalier::trainer {

// Converts the status of a call that reads or writes a stored tensor: NotFound becomes DataLoss, because the tensor had
// been created, so that a restarted server must have lost it.
Status NotFoundToDataLoss(Status status);

// Creates a tensor f32 [nodes, width] for each of the types, all under one name. Every rank must call it. It returns
// after all ranks have the tensors, so that no rank creates a tensor after another rank has written rows: if a server
// had lost the rows in a restart, that would hide the loss. Rank 0 creates the tensors first, and the other ranks then
// find them. This is faster than concurrent requests, of which servers defer all but one.
Status CreateOnAllRanks(const GraphAccess& graph, std::span<const NodeTypeId> types, const std::string& name,
                        int64_t width, collective::Collective& collective, const Timeouts& timeouts);

// Drops tensors, given by node type and name, on rank 0; does nothing on other ranks. Each request has a deadline of
// `patience`. After an error the remaining tensors are dropped too. Returns the first error.
Status DropTensors(const GraphAccess& graph, const std::map<NodeTypeId, std::string>& tensors,
                   const collective::Collective& collective, std::chrono::seconds patience);

}  // namespace espalier::trainer
