// Message passing over one relation (RelationConvolution), and a layer's convolution as the sum over its relations
// (PerRelationConvolution): GCN, GAT, GATv2.
//
// In a graph with one node type, a layer that samples one relation adds each node to its own neighborhood (a
// self-loop), as in the papers:      y_v = f(N(v) + {v})
// Otherwise each relation has its own weights, and a matrix W_self applies to the node's own row:
//                                    y_v = W_self x_v + sum over relations r: f_r(N_r(v))
// A relation in which v has no in-edges adds nothing.
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

// The edges and rows of one relation in one layer. Segments and degrees need to be valid only until Forward returns,
// because autograd keeps copies for the backward pass.
struct RelationRows {
  kernels::Segments segments;          // one segment for each destination
  torch::Tensor source;                // f32 [N, F]: the rows that segments.indices refer to
  torch::Tensor destination;           // f32 [D, F]
  bool with_self_loops = false;        // each node is its own neighbor too; destination row d is source row d
  std::span<const float> out_degrees;  // of source rows in the whole graph; empty unless needs_degrees()
  std::span<const float> in_degrees;   // of destination rows in the whole graph; empty unless needs_degrees()
  EdgeDropout dropout;                 // with the key of this relation; drops nothing if its probability is 0
};

// Computes f or f_r.
class RelationConvolution : public torch::nn::Module {
 public:
  virtual torch::Tensor Forward(const RelationRows& rows) = 0;  // returns f32 [D, outputs]
  virtual bool needs_degrees() const { return false; }
  // Returns the probability with which an edge's weight is dropped in training.
  virtual double edge_dropout() const { return 0; }
};

class PerRelationConvolution final : public Convolution {
 public:
  using MakePart = std::function<std::shared_ptr<RelationConvolution>(const std::string& name)>;

  // Has one RelationConvolution (a part) for each relation, or a single part if HasSelfLoops. Calls `make` with the
  // name of each part; the part's initial values depend on its name. The keys of dropout depend on `layer`.
  PerRelationConvolution(std::vector<EdgeTypeId> relations, int layer, int64_t inputs, int64_t outputs,
                         graph::GraphSchema schema, uint64_t seed, const std::string& name, const MakePart& make);

  torch::Tensor Forward(const sampler::BatchLayer& edges, const TypedRows& inputs, const WrittenRows& written,
                        const LayerRun& run) override;

  // Returns whether a layer over these relations has self-loops instead of a matrix for a node's own row.
  static bool HasSelfLoops(const graph::GraphSchema& schema, const std::vector<EdgeTypeId>& relations) {
    return schema.num_node_types() == 1 && relations.size() == 1;
  }

 private:
  torch::Tensor ConvolveWithSelfLoops(const sampler::Block& block, const torch::Tensor& x, const LayerRun& run);
  torch::Tensor AddRelation(size_t r, const sampler::Block& block, const TypedRows& inputs, int64_t first_row,
                            torch::Tensor sum, const LayerRun& run);
  EdgeDropout MakeDropout(size_t r, const LayerRun& run) const;

  const std::vector<EdgeTypeId> relations_;
  const int layer_;
  const graph::GraphSchema schema_;
  Linear self_{nullptr};                                     // null with self-loops
  std::vector<std::shared_ptr<RelationConvolution>> parts_;  // in the order of relations_
};

}  // namespace espalier::trainer
