// A partition whose answers a test decides: at once, later, wrong, or never.
#pragma once

#include <functional>
#include <vector>

#include "services/sampler/partition_access.h"

namespace espalier::sampler::testing {

// Calls without a script fail the test by their status: Unimplemented.
class ScriptedPartition : public PartitionAccess {
 public:
  explicit ScriptedPartition(uint32_t id) : id_(id) {}

  std::function<void(PartitionHopQuery, Done<PartitionHopSample>)> on_sample;
  std::function<void(std::span<const LocalNodeId>, RowSink, DoneStatus)> on_gather;
  std::function<void(const SeedQuery&, Done<PartitionSeeds>)> on_seeds;
  std::function<void(std::span<const OriginalNodeId>, Done<Tensor>)> on_look_up;
  std::function<void(std::vector<LocalNodeId>, Tensor, DoneStatus)> on_write;
  std::function<void(DoneStatus)> on_create;

  PartitionId partition() const override { return PartitionId(id_); }
  void SampleInEdges(PartitionHopQuery query, Deadline, Done<PartitionHopSample> done) override {
    if (!on_sample) return done(Unscripted());
    on_sample(std::move(query), std::move(done));
  }
  void GatherRows(NodeTypeId, const std::string&, std::span<const LocalNodeId> nodes, RowSink sink, Deadline,
                  DoneStatus done) override {
    if (!on_gather) return done(Unscripted());
    on_gather(nodes, sink, std::move(done));
  }
  void SeedsOfStep(const SeedQuery& query, Deadline, Done<PartitionSeeds> done) override {
    if (!on_seeds) return done(Unscripted());
    on_seeds(query, std::move(done));
  }
  void LookUp(NodeTypeId, std::span<const OriginalNodeId> nodes, Deadline, Done<Tensor> done) override {
    if (!on_look_up) return done(Unscripted());
    on_look_up(nodes, std::move(done));
  }
  void InDegrees(EdgeTypeId, std::span<const LocalNodeId>, Deadline, Done<Tensor> done) override { done(Unscripted()); }
  void FindEdges(EdgeTypeId, std::span<const GlobalEdgeId>, Deadline, Done<Tensor> done) override {
    done(Unscripted());
  }
  void CreateTensor(NodeTypeId, const std::string&, DType, const std::vector<int64_t>&, Deadline,
                    DoneStatus done) override {
    if (!on_create) return done(Unscripted());
    on_create(std::move(done));
  }
  void WriteRows(NodeTypeId, const std::string&, std::vector<LocalNodeId> nodes, Tensor rows, Deadline,
                 DoneStatus done) override {
    if (!on_write) return done(Unscripted());
    on_write(std::move(nodes), std::move(rows), std::move(done));
  }
  void DropTensor(NodeTypeId, const std::string&, Deadline, DoneStatus done) override { done(Unscripted()); }

 private:
  static Status Unscripted() { return Unimplemented("the test has no script for this"); }

  uint32_t id_;
};

}  // namespace espalier::sampler::testing
