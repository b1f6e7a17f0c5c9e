// Tensors on the owners of rows that all ranks write and read. They do not survive a restart of a server that holds
// them.
#pragma once

#include <span>
#include <string>

#include "services/collective/collective.h"
#include "services/trainer/data/graph_access.h"

namespace espalier::trainer {

// The error of a call that reads or writes a stored tensor, NotFound as DataLoss: the tensor had been created, so a
// restarted server has lost it.
Status LostWhereMissing(Status status);

// f32 [nodes, width] for each of the types, all under one name. Every rank calls it, and nobody writes before all have
// returned: a tensor that is created once more would hide that its rows are lost. Rank 0 makes them and the others find
// them, which is sooner done than that servers put off all but one who would make them.
Status CreateOnAllRanks(const GraphAccess& graph, std::span<const NodeTypeId> types, const std::string& name,
                        int64_t width, collective::Collective& collective, const Timeouts& timeouts);

}  // namespace espalier::trainer
