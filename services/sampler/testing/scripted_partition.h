// A partition whose responses a test scripts: immediate, delayed, wrong, or missing.
#pragma once

#include <functional>
#include <vector>

#include "services/sampler/access/partition_access.h"

namespace espalier::sampler::testing {

// Calls without a script return Unimplemented, which fails the test.
class ScriptedPartition : public PartitionAccess {
 public:
  explicit ScriptedPartition(uint32_t id) : id_(id) {}

  std::function<void(PartitionHopQuery, Done<PartitionHopSample>)> on_sample;
  std::function<void(std::span<const LocalNodeId>, RowSink, DoneStatus)> on_gather;
  std::function<void(const SeedQuery&, Done<PartitionSeeds>)> on_seeds;
  std::function<void(std::span<const OriginalNodeId>, Done<Tensor>)> on_look_up;
  std::function<void(std::span<const GlobalEdgeId>, Done<Tensor>)> on_edge_rows;
  std::function<void(std::vector<LocalRowId>, Tensor, DoneStatus)> on_write;
  std::function<void(const TensorSpec&, uint64_t creation, Done<TensorDescription>)> on_create;
  std::function<void(const TensorId&, DoneStatus)> on_complete;
  std::function<void(const TensorId&, Done<TensorDescription>)> on_describe;
  std::function<void(const TensorId&, DoneStatus)> on_drop;
  std::function<void(const TensorId&, uint64_t maker, DoneStatus)> on_abandon;
  std::function<void(Done<Tensor>)> on_reduce;

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
  void ToGlobalIds(NodeTypeId, std::span<const OriginalNodeId> nodes, Deadline, Done<Tensor> done) override {
    if (!on_look_up) return done(Unscripted());
    on_look_up(nodes, std::move(done));
  }
  void InDegrees(EdgeTypeId, std::span<const LocalNodeId>, Deadline, Done<Tensor> done) override { done(Unscripted()); }
  void FindEdges(EdgeTypeId, std::span<const GlobalEdgeId>, Deadline, Done<Tensor> done) override {
    done(Unscripted());
  }
  void GatherEdgeRows(EdgeTypeId, const std::string&, std::span<const GlobalEdgeId> edges, Deadline,
                      Done<Tensor> done) override {
    if (!on_edge_rows) return done(Unscripted());
    on_edge_rows(edges, std::move(done));
  }
  PartitionTensors& tensors() override { return tensors_; }
  PartitionEmbeddings& embeddings() override { return embeddings_; }

 private:
  static Status Unscripted() { return Unimplemented("the test has no script for this"); }

  class Tensors final : public PartitionTensors {
   public:
    explicit Tensors(ScriptedPartition& script) : script_(script) {}

    void Create(const TensorSpec& spec, uint64_t creation, Deadline, Done<TensorDescription> done) override {
      if (!script_.on_create) return done(Unscripted());
      script_.on_create(spec, creation, std::move(done));
    }
    void Complete(const TensorId& tensor, Deadline, DoneStatus done) override {
      if (!script_.on_complete) return done(Unscripted());
      script_.on_complete(tensor, std::move(done));
    }
    void Describe(const TensorId& tensor, Deadline, Done<TensorDescription> done) override {
      if (!script_.on_describe) return done(Unscripted());
      script_.on_describe(tensor, std::move(done));
    }
    void Drop(const TensorId& tensor, Deadline, DoneStatus done) override {
      if (!script_.on_drop) return done(Unscripted());
      script_.on_drop(tensor, std::move(done));
    }
    void Abandon(const TensorId& tensor, uint64_t maker, Deadline, DoneStatus done) override {
      if (!script_.on_abandon) return done(Unscripted());
      script_.on_abandon(tensor, maker, std::move(done));
    }
    void Read(const TensorId&, std::span<const LocalRowId>, RowSink, Deadline, DoneStatus done) override {
      done(Unscripted());
    }
    void Write(const TensorId&, RowWrite, std::vector<LocalRowId> rows, Tensor values, Deadline,
               DoneStatus done) override {
      if (!script_.on_write) return done(Unscripted());
      script_.on_write(std::move(rows), std::move(values), std::move(done));
    }
    void Combine(const TensorId&, RowWrite, const TensorId&, Deadline, DoneStatus done) override { done(Unscripted()); }
    void Reduce(const TensorId&, Reduction, Deadline, Done<Tensor> done) override {
      if (!script_.on_reduce) return done(Unscripted());
      script_.on_reduce(std::move(done));
    }

   private:
    ScriptedPartition& script_;
  };

  uint32_t id_;
  class Embeddings final : public PartitionEmbeddings {
   public:
    void Create(const EmbeddingSpec&, Deadline, DoneStatus done) override { done(Unscripted()); }
    void Read(const TensorId&, uint64_t, std::span<const LocalRowId>, RowSink, Deadline, DoneStatus done) override {
      done(Unscripted());
    }
    void Push(const TensorId&, GradientPiece, Deadline, DoneStatus done) override { done(Unscripted()); }
    void Drop(const TensorId&, Deadline, DoneStatus done) override { done(Unscripted()); }
  };

  Tensors tensors_{*this};
  Embeddings embeddings_;
};

}  // namespace espalier::sampler::testing
