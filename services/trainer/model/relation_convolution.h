// Message passing under one relation, and the convolution that is made of such parts: GCN, GAT, GATv2.
//
// On a graph of one node type whose layer draws one relation, a node takes part in its own neighbourhood (a self loop),
// as the papers have it:             y_v = f(N(v) + {v})
// Otherwise relations have weights of their own, and a node's own row a matrix:
//                                    y_v = W_self x_v + sum over relations r: f_r(N_r(v))
// where a relation under which v has no in-edges adds nothing.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/trainer/model/convolution.h"
#include "services/trainer/model/linear.h"
#include "services/trainer/ops/attention_ops.h"

namespace espalier::trainer {

// One relation's edges and rows in one layer. Segments and degrees are read during the call only.
struct RelationRows {
  kernels::Segments segments;          // rows: destinations
  torch::Tensor source;                // f32 [N, F]: the rows that indices name
  torch::Tensor destination;           // f32 [D, F]
  bool with_self_loops = false;        // then destination row d is source row d
  std::span<const float> out_degrees;  // of source rows, in the whole graph; empty unless the model needs them
  std::span<const float> in_degrees;   // of destination rows
  EdgeDropout dropout;                 // keyed for this relation; of probability 0 unless edges are dropped
};

class RelationConvolution : public torch::nn::Module {
 public:
  virtual torch::Tensor Forward(const RelationRows& rows) = 0;  // -> f32 [D, outputs]
  virtual bool needs_degrees() const { return false; }
  // Chance that an edge's weight is dropped while training.
  virtual double edge_dropout() const { return 0; }
};

class RelationalConvolution final : public Convolution {
 public:
  using MakePart = std::function<std::shared_ptr<RelationConvolution>(const std::string& name)>;

  // `make` is called with the name of each part, for its random stream. `layer`: for the keys of dropout.
  RelationalConvolution(std::vector<EdgeTypeId> relations, int layer, int64_t inputs, int64_t outputs,
                        graph::GraphSchema schema, uint64_t seed, const std::string& name, const MakePart& make);

  torch::Tensor Forward(const sampler::BatchLayer& edges, const TypedRows& inputs, const WrittenRows& written,
                        const LayerRun& run) override;

  // Whether a layer over these relations lets nodes hear themselves instead of giving them a matrix.
  static bool HasSelfLoops(const graph::GraphSchema& schema, const std::vector<EdgeTypeId>& relations) {
    return schema.num_node_types() == 1 && relations.size() == 1;
  }

 private:
  torch::Tensor WithSelfLoops(const sampler::Block& block, const torch::Tensor& x, const LayerRun& run);
  torch::Tensor OfRelation(size_t r, const sampler::Block& block, const TypedRows& inputs, int64_t first_row,
                           torch::Tensor sum, const LayerRun& run);
  EdgeDropout MakeDropout(size_t r, const LayerRun& run) const;

  const std::vector<EdgeTypeId> relations_;
  const int layer_;
  const graph::GraphSchema schema_;
  Linear self_{nullptr};                                     // without self loops
  std::vector<std::shared_ptr<RelationConvolution>> parts_;  // as relations_
};

}  // namespace espalier::trainer
