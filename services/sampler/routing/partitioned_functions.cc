// PartitionedGraph's calls of server plugins.
#include "services/sampler/routing/partition_fan_out.h"
#include "services/sampler/routing/partitioned_graph_state.h"

namespace espalier::sampler {

Result<std::vector<Tensor>> PartitionedGraph::CallFunction(const std::vector<PartitionId>& partitions,
                                                           const std::string& function, const Tensor& request,
                                                           TensorEffect effect, Deadline deadline) {
  for (const PartitionId partition : partitions) {
    if (partition.value >= state_->partitions.size()) {
      return InvalidArgument("partition " + std::to_string(partition.value) + " does not exist: there are " +
                             std::to_string(state_->partitions.size()));
    }
  }
  const auto fan_out = std::make_shared<PartitionFanOut<Tensor>>(partitions, nullptr);
  for (size_t i = 0; i < partitions.size(); ++i) {
    state_->partitions[partitions[i].value]->CallFunction(function, request, effect, deadline, fan_out->Slot(i));
  }
  // Waits even after an error, so that no function still changes tensors or plugin state after this returns.
  return fan_out->WaitForAll(deadline);
}

}  // namespace espalier::sampler
