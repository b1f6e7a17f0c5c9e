// External: uses the assignment that the user provides.
#include "services/partition/partitioner.h"

#include "services/partition/input_checks.h"

namespace espalier::partition {
namespace {

bool IsInteger(DType dtype) { return !IsFloating(dtype) && dtype != DType::kBool; }

Result<std::vector<uint32_t>> ReadPartitions(const Tensor& given, uint64_t num_nodes, uint32_t num_partitions) {
  if (!IsInteger(given.dtype()) || given.shape().size() != 1 || static_cast<uint64_t>(given.num_rows()) != num_nodes) {
    return InvalidArgument("expected one integer per node: [" + std::to_string(num_nodes) + "], found " +
                           given.ToString());
  }
  std::vector<uint32_t> partition_of(num_nodes);
  for (size_t node = 0; node < num_nodes; ++node) {
    const int64_t partition = given.ValueAsInt(static_cast<int64_t>(node));
    if (partition < 0 || partition >= int64_t{num_partitions}) {
      return InvalidArgument("row " + std::to_string(node) + ": partition " + std::to_string(partition) +
                             " does not exist, expected 0 to " + std::to_string(num_partitions - 1));
    }
    partition_of[node] = static_cast<uint32_t>(partition);
  }
  return partition_of;
}

class ExternalPartitioner final : public Partitioner {
 public:
  explicit ExternalPartitioner(std::vector<Tensor> given) : given_(std::move(given)) {}
  const char* name() const override { return "External"; }
  int version() const override { return 1; }

  Result<Assignment> Partition(const graph::SourceGraph& graph, const PartitionOptions& options) const override {
    RETURN_IF_ERROR(CheckNumPartitions(graph, options.num_partitions));
    if (given_.size() != graph.nodes.size()) {
      return InvalidArgument("external assignment: found " + std::to_string(given_.size()) +
                             " arrays, expected one for each of the " + std::to_string(graph.nodes.size()) +
                             " node types");
    }
    Assignment assignment(given_.size());
    for (size_t type = 0; type < given_.size(); ++type) {
      ASSIGN_OR_RETURN(assignment[type],
                       ReadPartitions(given_[type], graph.nodes[type].count, options.num_partitions)
                           .While("external assignment of node type '" + graph.schema.node_types()[type] + "'"));
    }
    return assignment;
  }

 private:
  const std::vector<Tensor> given_;
};

}  // namespace

std::unique_ptr<Partitioner> MakeExternalPartitioner(std::vector<Tensor> assignment) {
  return std::make_unique<ExternalPartitioner>(std::move(assignment));
}

}  // namespace espalier::partition
