#include "services/sampler/link_batch.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "services/sampler/seed_order.h"

namespace espalier::sampler {
namespace {

constexpr uint64_t kMaxNegatives = uint64_t{1} << 28;  // of one trainer's share: more is a mistake

// The negatives of a share by pair: [pairs * count], in the share's order.
struct Negatives {
  std::vector<GlobalNodeId> sources;
  std::vector<GlobalNodeId> destinations;
  std::vector<uint8_t> weights;  // 0: there is none here
};

class LinkBatchMaker {
 public:
  LinkBatchMaker(SeedSource& seeds, const graph::PartitionBook& book, const EpochPlan& plan, uint64_t seed,
                 uint32_t epoch, uint32_t step, Deadline deadline)
      : seeds_(seeds), plan_(plan), links_(*plan.links), seed_(seed), epoch_(epoch), step_(step), deadline_(deadline) {
    node_type_ = book.schema().DestinationOf(links_.edge_type);
    num_nodes_ = book.num_nodes(node_type_);
  }

  Status FindEdges(const graph::PartitionBook& book) {
    SeedQuery query{.split = plan_.split,
                    .shuffle = plan_.shuffle,
                    .seed = seed_,
                    .epoch = epoch_,
                    .step = step_,
                    .batch_size = plan_.batch_size};
    query.edge_type = links_.edge_type;
    ASSIGN_OR_RETURN(batch_, seeds_.SeedsOfStep(query, deadline_));
    share_ = PositionsOfShare(batch_, book, node_type_, plan_.num_trainers, plan_.rank);
    if (share_.size() * uint64_t{count()} <= kMaxNegatives) return {};
    return ResourceExhausted("a trainer's share would have " + std::to_string(share_.size()) + " edges with " +
                             std::to_string(count()) + " negatives each; use smaller batches or fewer negatives");
  }

  const GlobalBatch& batch() const { return batch_; }

  // The share's pairs as rows of `nodes`, the distinct ends.
  Result<LinkSeeds> Link(std::vector<GlobalNodeId>& nodes) {
    ASSIGN_OR_RETURN(Negatives negatives, DrawNegatives());
    MaskEdgesOfTheBatch(negatives);
    LinkSeeds links{.negatives_per_pair = count()};
    absl::flat_hash_map<uint64_t, uint32_t> row_of;
    const auto row = [&](GlobalNodeId node) {
      const auto [at, added] = row_of.try_emplace(node.value, static_cast<uint32_t>(nodes.size()));
      if (added) nodes.push_back(node);
      return at->second;
    };
    for (size_t i = 0; i < share_.size(); ++i) {
      links.sources.push_back(row(batch_.sources[share_[i]]));
      links.destinations.push_back(row(batch_.seeds[share_[i]]));
      for (size_t k = i * count(); k < (i + 1) * count(); ++k) {
        links.negative_sources.push_back(row(negatives.sources[k]));
        links.negative_destinations.push_back(row(negatives.destinations[k]));
      }
    }
    links.negative_weights = std::move(negatives.weights);
    return links;
  }

 private:
  uint32_t count() const { return links_.negatives.count; }

  Result<Negatives> DrawNegatives() {
    Negatives negatives;
    negatives.weights.assign(share_.size() * count(), 1);
    switch (links_.negatives.kind) {
      case NegativeKind::kUniform:
      case NegativeKind::kJoint: {
        ASSIGN_OR_RETURN(negatives.destinations, DrawEnds(NegativeEnd::kDestination));
        break;
      }
      case NegativeKind::kInBatch: TakeFromBatch(negatives); break;
      case NegativeKind::kInDegree: RETURN_IF_ERROR(TakeDestinations(negatives)); break;
      case NegativeKind::kGlobalUniform: {
        ASSIGN_OR_RETURN(negatives.sources, DrawEnds(NegativeEnd::kSource));
        ASSIGN_OR_RETURN(negatives.destinations, DrawEnds(NegativeEnd::kDestination));
        break;
      }
    }
    if (negatives.sources.empty()) {  // the edge's own
      for (const uint32_t position : share_) {
        negatives.sources.insert(negatives.sources.end(), count(), batch_.sources[position]);
      }
    }
    return negatives;
  }

  Result<std::vector<GlobalNodeId>> DrawEnds(NegativeEnd end) {
    const uint64_t key = NegativesKey(seed_, epoch_, step_, end);
    std::vector<OriginalNodeId> originals;
    originals.reserve(share_.size() * count());
    for (const uint32_t position : share_) {
      const bool joint = links_.negatives.kind == NegativeKind::kJoint;
      const uint64_t stream = joint ? JointGroupOf(position, count()) : position;
      for (const uint64_t node : DrawNodes(key, stream, num_nodes_, count())) originals.emplace_back(node);
    }
    // Shared negatives are asked for once.
    std::vector<OriginalNodeId> distinct = originals;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> globals, seeds_.LookUp(node_type_, distinct, deadline_));
    std::vector<GlobalNodeId> nodes;
    nodes.reserve(originals.size());
    for (const OriginalNodeId original : originals) {
      const auto at = std::lower_bound(distinct.begin(), distinct.end(), original);
      nodes.push_back(globals[static_cast<size_t>(at - distinct.begin())]);
    }
    return nodes;
  }

  void TakeFromBatch(Negatives& negatives) const {
    for (size_t i = 0; i < share_.size(); ++i) {
      const uint32_t position = share_[i];
      const BatchGroup group = InBatchGroupOf(position, count(), batch_.seeds.size());
      size_t at = i * count();
      for (uint64_t other = group.first; other < group.last; ++other) {
        if (other == position) continue;
        negatives.destinations.push_back(batch_.seeds[other]);
        ++at;
      }
      // What a short group lacks stands for the edge's own destination and weighs nothing.
      for (; at < (i + 1) * count(); ++at) {
        negatives.destinations.push_back(batch_.seeds[position]);
        negatives.weights[at] = 0;
      }
    }
  }

  Status TakeDestinations(Negatives& negatives) {
    if (share_.empty()) return {};
    ASSIGN_OR_RETURN(const uint64_t num_edges,
                     seeds_.CountOfEdges(links_.edge_type, plan_.split, graph::SplitPartName::kTrain));
    const SeedQuery query = InDegreeQuery(links_.edge_type, plan_.split, seed_, epoch_, step_,
                                          uint64_t{count()} * plan_.batch_size, num_edges);
    ASSIGN_OR_RETURN(const GlobalBatch drawn, seeds_.SeedsOfStep(query, deadline_));
    for (const uint32_t position : share_) {
      for (uint64_t k = 0; k < count(); ++k) {
        negatives.destinations.push_back(drawn.seeds[(uint64_t{position} * count() + k) % drawn.seeds.size()]);
      }
    }
    return {};
  }

  void MaskEdgesOfTheBatch(Negatives& negatives) const {
    std::vector<EdgeEnds> edges;
    for (size_t i = 0; i < batch_.seeds.size(); ++i) edges.push_back({batch_.seeds[i], batch_.sources[i]});
    std::sort(edges.begin(), edges.end());
    for (size_t k = 0; k < negatives.weights.size(); ++k) {
      const EdgeEnds pair{negatives.destinations[k], negatives.sources[k]};
      if (std::binary_search(edges.begin(), edges.end(), pair)) negatives.weights[k] = 0;
    }
  }

  SeedSource& seeds_;
  const EpochPlan& plan_;
  const LinkPlan& links_;
  const uint64_t seed_;
  const uint32_t epoch_, step_;
  const Deadline deadline_;
  NodeTypeId node_type_;
  uint64_t num_nodes_ = 0;
  GlobalBatch batch_;
  std::vector<uint32_t> share_;  // positions of the batch, ascending
};

}  // namespace

Status CheckLinkPlan(const EpochPlan& plan, const graph::GraphSchema& schema) {
  if (!plan.links.has_value()) return InvalidArgument("the plan names no edges");
  const LinkPlan& links = *plan.links;
  if (links.edge_type.value >= schema.num_edge_types()) {
    return InvalidArgument("edge type " + std::to_string(links.edge_type.value) + " does not exist");
  }
  const std::string name = schema.EdgeType(links.edge_type).Name();
  if (schema.SourceOf(links.edge_type) != schema.DestinationOf(links.edge_type)) {
    return InvalidArgument("edge type '" + name +
                           "': links are predicted between nodes of one type, its ends are of two");
  }
  if (links.reverse_type.has_value() &&
      (links.reverse_type->value >= schema.num_edge_types() ||
       schema.SourceOf(*links.reverse_type) != schema.DestinationOf(links.edge_type) ||
       schema.DestinationOf(*links.reverse_type) != schema.SourceOf(links.edge_type))) {
    return InvalidArgument("the reverse edge type does not lead back along '" + name + "'");
  }
  if (links.negatives.count == 0) return InvalidArgument("each edge needs at least one negative");
  return {};
}

Result<MiniBatch> MakeLinkBatch(SeedSource& seeds, FanoutSampler& sampler, const graph::PartitionBook& book,
                                const EpochPlan& plan, uint64_t seed, uint32_t epoch, uint32_t step, bool want_edge_ids,
                                Deadline deadline) {
  LinkBatchMaker maker(seeds, book, plan, seed, epoch, step, deadline);
  RETURN_IF_ERROR(maker.FindEdges(book));
  std::vector<GlobalNodeId> nodes;
  ASSIGN_OR_RETURN(LinkSeeds links, maker.Link(nodes));
  const EdgeExclusions excluded =
      ExclusionsOf(maker.batch(), plan.links->edge_type, plan.links->reverse_type, book.schema().num_edge_types());
  BatchRequest request{.epoch = epoch,
                       .step = step,
                       .seed_type = book.schema().DestinationOf(plan.links->edge_type),
                       .seeds = nodes,
                       .global_num_seeds = static_cast<uint32_t>(maker.batch().seeds.size()),
                       .want_edge_ids = want_edge_ids};
  request.excluded = &excluded;
  ASSIGN_OR_RETURN(MiniBatch batch, sampler.Sample(request, deadline));
  batch.links = std::move(links);
  return batch;
}

}  // namespace espalier::sampler
