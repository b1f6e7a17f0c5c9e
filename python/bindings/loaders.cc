// Binds data loaders over nodes and edges, whose batches come with the rows that a model reads.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/loaded_batch.h"
#include "python/bindings/rows.h"
#include "python/bindings/waits.h"
#include "services/client/loaders/edge_data_loader.h"
#include "services/client/loaders/feature_cache.h"
#include "services/client/loaders/node_data_loader.h"
#include "services/messages/wire_ids.h"
#include "services/sampler/batches/fanout_sampler.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace espalier::python {
namespace {

using client::DistGraph;

// Rows that the loader gathers for each batch: those of all its nodes of `type`, or only those of its seeds.
struct Fetch {
  NodeTypeId type;
  std::string column;
  bool of_seeds = false;
};

// Gathers the rows of a batch, from the cache if there is one. Called on the loader's thread.
class Collate {
 public:
  Collate(std::shared_ptr<const DistGraph> graph, std::vector<Fetch> fetches,
          std::shared_ptr<client::FeatureCache> feature_cache)
      : graph_(std::move(graph)), fetches_(std::move(fetches)), feature_cache_(std::move(feature_cache)) {}

  Result<LoadedBatch> operator()(sampler::MiniBatch batch, const Deadline& deadline) const {
    LoadedBatch loaded{std::move(batch), {}};
    for (const Fetch& fetch : fetches_) {
      std::span<const GlobalNodeId> nodes = loaded.batch.nodes[fetch.type.value];
      if (fetch.of_seeds) nodes = nodes.first(NumSeeds(loaded.batch, fetch.type));
      ASSIGN_OR_RETURN(Tensor rows, feature_cache_ == nullptr
                                        ? graph_->GatherNodeRows(fetch.type, fetch.column, nodes, deadline)
                                        : feature_cache_->GatherNodeRows(fetch.type, fetch.column, nodes, deadline));
      loaded.rows.push_back(std::move(rows));
    }
    return loaded;
  }

 private:
  static size_t NumSeeds(const sampler::MiniBatch& batch, NodeTypeId type) {
    if (batch.layers.empty()) return batch.nodes[type.value].size();
    return batch.layers.back().num_outputs[type.value];
  }

  const std::shared_ptr<const DistGraph> graph_;
  const std::vector<Fetch> fetches_;
  const std::shared_ptr<client::FeatureCache> feature_cache_;  // null: none
};

class Loader {
 public:
  // `feature_cache`: the cache that the loader uses; null: none.
  explicit Loader(std::shared_ptr<client::FeatureCache> feature_cache) : feature_cache_(std::move(feature_cache)) {}
  virtual ~Loader() = default;
  virtual Status StartEpoch(uint32_t epoch, uint32_t first_step) = 0;
  virtual Result<std::optional<LoadedBatch>> NextBefore(const Deadline& deadline) = 0;
  virtual void Cancel() = 0;

  // Returns (rows found in the cache, rows fetched, bytes found, bytes fetched, bytes held); all 0 without a cache.
  std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, uint64_t> FeatureCacheCounts() const {
    if (feature_cache_ == nullptr) return {};
    const sampler::RowCacheCounts counts = feature_cache_->counts();
    return {counts.hit_rows, counts.fetched_rows, counts.hit_bytes, counts.fetched_bytes, feature_cache_->held_bytes()};
  }

 private:
  const std::shared_ptr<client::FeatureCache> feature_cache_;
};

template <class DataLoader>
class LoaderOf final : public Loader {
 public:
  LoaderOf(std::unique_ptr<DataLoader> loader, std::shared_ptr<client::FeatureCache> feature_cache)
      : Loader(std::move(feature_cache)), loader_(std::move(loader)) {}
  Status StartEpoch(uint32_t epoch, uint32_t first_step) override { return loader_->StartEpoch(epoch, first_step); }
  Result<std::optional<LoadedBatch>> NextBefore(const Deadline& deadline) override {
    return loader_->NextBefore(deadline);
  }
  void Cancel() override { loader_->Cancel(); }

 private:
  const std::unique_ptr<DataLoader> loader_;
};

// The settings that loaders of nodes and of edges have in common, as the Python classes pass them.
struct LoaderSettings {
  uint64_t batch_size = 1;
  bool shuffle = true, drop_last = false;
  std::vector<std::map<uint32_t, int32_t>> fanouts;  // by layer, fan-out by edge type
  uint64_t seed = 0;
  std::string method = "Neighbor", expand = "Always", weight, time_column, seed_time_column;
  bool replace = false, layer_dependency = false;
  int threads = 1;
  uint32_t batches_ahead = 2;
  bool want_edge_ids = false, by_samplers = false;
  std::vector<std::tuple<uint32_t, std::string, bool>> fetches;  // (node type, column, whether only for the seeds)
  uint64_t feature_cache_bytes = 0;                              // 0: no cache
  uint32_t feature_cache_steps = 32;
};

sampler::SamplingSpec MakeSamplingSpec(const DistGraph& graph, const LoaderSettings& settings) {
  sampler::SamplingSpec spec;
  for (const auto& by_type : settings.fanouts) {
    sampler::LayerSpec layer;
    layer.fanouts.resize(graph.schema().num_edge_types());
    for (const auto& [type, fanout] : by_type) {
      ThrowIfError(graph.schema().CheckEdgeType(ValueOrThrow(messages::DecodeEdgeType(type))));
      layer.fanouts[type] = fanout;
    }
    spec.layers.push_back(std::move(layer));
  }
  spec.seed = settings.seed;
  spec.draw.replace = settings.replace;
  spec.draw.layer_dependency = settings.layer_dependency;
  spec.draw.weight_column = settings.weight;
  spec.draw.time_column = settings.time_column;
  spec.seed_time_column = settings.seed_time_column;
  spec.draw.method = ParseMethod(settings.method);
  if (!sampler::ParseName(settings.expand, &spec.draw.expand)) {
    throw StatusError(InvalidArgument("expand '" + settings.expand + "'; expected Always or Once"));
  }
  return spec;
}

std::vector<Fetch> MakeFetches(const DistGraph& graph, const LoaderSettings& settings) {
  std::vector<Fetch> fetches;
  for (const auto& [type, column, of_seeds] : settings.fetches) {
    const NodeTypeId node_type = ValueOrThrow(messages::DecodeNodeType(type));
    ThrowIfError(graph.schema().CheckNodeType(node_type));
    fetches.push_back({node_type, column, of_seeds});
  }
  return fetches;
}

// Returns a cache of the columns that the loader fetches for all nodes of a batch; null if the settings ask for no
// cache. Distributed tensors that are attached as columns are not cached, because they change.
std::shared_ptr<client::FeatureCache> MakeFeatureCache(const DistGraph& graph, const std::vector<Fetch>& fetches,
                                                       const LoaderSettings& settings) {
  if (settings.feature_cache_bytes == 0) return nullptr;
  client::FeatureCacheOptions options{
      .columns = {}, .memory_bytes = settings.feature_cache_bytes, .steps = settings.feature_cache_steps};
  for (const Fetch& fetch : fetches) {
    const auto is_fetched = [&fetch](const sampler::ColumnDescription& column) {
      return column.node_type == fetch.type && column.name == fetch.column;
    };
    if (!fetch.of_seeds && std::ranges::any_of(graph.node_columns(), is_fetched)) {
      options.columns.emplace_back(fetch.type, fetch.column);
    }
  }
  if (options.columns.empty()) {
    throw StatusError(InvalidArgument(
        "feature_cache has no rows to keep: the sampler's prefetch_node_feats names no column of the graph; name the "
        "columns there, or omit feature_cache"));
  }
  return ValueOrThrow(client::FeatureCache::Make(graph, options));
}

client::SampledBy ToSampledBy(const LoaderSettings& settings) {
  return settings.by_samplers ? client::SampledBy::kSamplers : client::SampledBy::kThisProcess;
}

using NodeLoader = client::NodeDataLoader<LoadedBatch>;
using EdgeLoader = client::EdgeDataLoader<LoadedBatch>;

client::NodeLoaderOptions MakeNodeOptions(const DistGraph& graph, uint32_t seed_type, const LoaderSettings& settings) {
  const NodeTypeId type = ValueOrThrow(messages::DecodeNodeType(seed_type));
  ThrowIfError(graph.schema().CheckNodeType(type));
  return {.seed_type = type,
          .batch_size = settings.batch_size,
          .shuffle = settings.shuffle,
          .last_batch = settings.drop_last ? client::LastBatch::kDrop : client::LastBatch::kKeep,
          .sampling = MakeSamplingSpec(graph, settings),
          .threads = settings.threads,
          .batches_ahead = settings.batches_ahead,
          .want_edge_ids = settings.want_edge_ids,
          .sampled_by = ToSampledBy(settings)};
}

template <class DataLoader, class Seeds, class Options>
std::unique_ptr<Loader> Make(const std::shared_ptr<DistGraph>& graph, const LoaderSettings& settings, Seeds seeds,
                             Options options) {
  std::vector<Fetch> fetches = MakeFetches(*graph, settings);
  options.feature_cache = MakeFeatureCache(*graph, fetches, settings);
  const Collate collate(graph, std::move(fetches), options.feature_cache);
  std::unique_ptr<DataLoader> loader = CallWithStop(
      *graph, [&](const DistGraph& handle) { return DataLoader::Make(handle, std::move(seeds), options, collate); });
  return std::make_unique<LoaderOf<DataLoader>>(std::move(loader), std::move(options.feature_cache));
}

std::unique_ptr<Loader> NodesOfSplit(const std::shared_ptr<DistGraph>& graph, const LoaderSettings& settings,
                                     uint32_t type, const std::string& split, const std::string& part) {
  return Make<NodeLoader>(graph, settings, client::NodesOfSplit{split, ParsePart(part)},
                          MakeNodeOptions(*graph, type, settings));
}

// `largest` is the size of the largest share of all ranks: it makes the epochs of all ranks equally long.
std::unique_ptr<Loader> NodesOfRank(const std::shared_ptr<DistGraph>& graph, const LoaderSettings& settings,
                                    uint32_t type, const IdArray& nodes, uint64_t largest) {
  return Make<NodeLoader>(graph, settings, client::NodeShare{VectorOf<GlobalNodeId>(nodes), largest},
                          MakeNodeOptions(*graph, type, settings));
}

// Options of edge loaders only.
struct EdgeSettings {
  std::string negatives = "Uniform";
  uint32_t negatives_per_edge = 0;
  bool exclude = true;
  std::map<uint32_t, uint32_t> reverse_types;
  std::vector<std::string> edge_columns;
  bool want_pair_ids = false;
};

client::EdgeLoaderOptions MakeEdgeOptions(const DistGraph& graph, const LoaderSettings& settings,
                                          const EdgeSettings& edges) {
  client::EdgeLoaderOptions options{
      .batch_size = settings.batch_size,
      .shuffle = settings.shuffle,
      .last_batch = settings.drop_last ? client::LastBatch::kDrop : client::LastBatch::kKeep,
      .negatives = {.count = edges.negatives_per_edge},
      .exclude_batch = edges.exclude,
      .sampling = MakeSamplingSpec(graph, settings),
      .threads = settings.threads,
      .batches_ahead = settings.batches_ahead,
      .want_edge_ids = settings.want_edge_ids,
      .want_pair_ids = edges.want_pair_ids,
      .edge_columns = edges.edge_columns,
      .sampled_by = ToSampledBy(settings)};
  if (!sampler::ParseName(edges.negatives, &options.negatives.kind)) {
    throw StatusError(InvalidArgument("negatives '" + edges.negatives +
                                      "'; expected Uniform, Joint, InBatch, InDegree or GlobalUniform"));
  }
  for (const auto& [type, reverse] : edges.reverse_types) {
    const EdgeTypeId id = ValueOrThrow(messages::DecodeEdgeType(type));
    const EdgeTypeId reverse_id = ValueOrThrow(messages::DecodeEdgeType(reverse));
    ThrowIfError(graph.schema().CheckEdgeType(id));
    ThrowIfError(graph.schema().CheckEdgeType(reverse_id));
    options.reverse_types[id] = reverse_id;
  }
  return options;
}

std::unique_ptr<Loader> EdgesOfSplit(const std::shared_ptr<DistGraph>& graph, const LoaderSettings& settings,
                                     const EdgeSettings& edges, const std::vector<uint32_t>& types,
                                     const std::string& split, const std::string& part) {
  client::EdgesOfSplit seeds{{}, split, ParsePart(part)};
  for (const uint32_t type : types) seeds.types.push_back(ValueOrThrow(messages::DecodeEdgeType(type)));
  return Make<EdgeLoader>(graph, settings, std::move(seeds), MakeEdgeOptions(*graph, settings, edges));
}

// `ids` are those of the edges; empty for pairs of nodes that need not be edges. `largest` as for NodesOfRank.
std::unique_ptr<Loader> EdgesOfRank(const std::shared_ptr<DistGraph>& graph, const LoaderSettings& settings,
                                    const EdgeSettings& edges, uint32_t type, const IdArray& sources,
                                    const IdArray& destinations, const IdArray& ids, uint64_t largest) {
  client::EdgeList list{.type = ValueOrThrow(messages::DecodeEdgeType(type)),
                        .sources = VectorOf<GlobalNodeId>(sources),
                        .destinations = VectorOf<GlobalNodeId>(destinations),
                        .ids = VectorOf<GlobalEdgeId>(ids)};
  return Make<EdgeLoader>(graph, settings, client::EdgeShare{std::move(list), largest},
                          MakeEdgeOptions(*graph, settings, edges));
}

// Samples mini-batches for seeds that the caller gives. Not thread-safe.
class BatchSampler {
 public:
  BatchSampler(const std::shared_ptr<DistGraph>& graph, const LoaderSettings& settings)
      : graph_(graph),
        sampler_(ValueOrThrow(sampler::FanoutSampler::Make(graph->partitions(), MakeSamplingSpec(*graph, settings)))),
        want_edge_ids_(settings.want_edge_ids) {}

  // `seeds`: by node type, distinct. Epoch and step are part of the key of each draw.
  LoadedBatch Sample(const std::map<uint32_t, IdArray>& seeds, uint32_t epoch, uint32_t step) {
    std::vector<std::vector<GlobalNodeId>> by_type(graph_->schema().num_node_types());
    size_t num_seeds = 0;
    for (const auto& [type, ids] : seeds) {
      ThrowIfError(graph_->schema().CheckNodeType(ValueOrThrow(messages::DecodeNodeType(type))));
      by_type[type] = VectorOf<GlobalNodeId>(ids);
      num_seeds += ids.size();
    }
    const sampler::BatchRequest request{.epoch = epoch,
                                        .step = step,
                                        .typed_seeds = by_type,
                                        .global_num_seeds = static_cast<uint32_t>(num_seeds),
                                        .want_edge_ids = want_edge_ids_};
    return {CallInterruptibly({}, graph_->CallDeadline(),
                              [&](const Deadline& deadline) { return sampler_.Sample(request, deadline); }),
            {}};
  }

 private:
  const std::shared_ptr<const DistGraph> graph_;  // owns the partitions that sampler_ refers to
  sampler::FanoutSampler sampler_;
  const bool want_edge_ids_;
};

// Returns the next batch, or nullopt after the last one. Waits without a deadline, so that DeadlineExceeded is always
// an error of loading the batch.
std::optional<LoadedBatch> Next(Loader& loader) {
  return CallInterruptibly({}, Deadline::Never(),
                           [&](const Deadline& deadline) { return loader.NextBefore(deadline); });
}

using BatchHandle = nb::pointer_and_handle<LoadedBatch>;

// Returns [(edge type, indptr, indices, edge ids)] of a layer.
nb::list Blocks(const BatchHandle& self, size_t layer) {
  nb::list blocks;
  for (const sampler::Block& block : self.p->batch.layers.at(layer).blocks) {
    blocks.append(nb::make_tuple(block.edge_type.value, RowView(block.indptr, self.h), RowView(block.indices, self.h),
                                 IdView(block.edge_ids, self.h)));
  }
  return blocks;
}

// Returns the seed edges of a batch of an edge loader.
nb::dict Links(const BatchHandle& self) {
  const std::optional<sampler::LinkSeeds>& links = self.p->batch.links;
  nb::dict dict;
  dict["negatives_per_pair"] = links->negatives_per_pair;
  dict["sources"] = RowView(links->sources, self.h);
  dict["destinations"] = RowView(links->destinations, self.h);
  dict["relations"] = RowView(links->relations, self.h);
  dict["set_ends"] = RowView(links->set_ends, self.h);
  dict["negative_destinations"] = RowView(links->negative_destinations, self.h);
  dict["negative_sources"] = RowView(links->negative_sources, self.h);
  dict["negative_weights"] =
      View(links->negative_weights.data(), {links->negative_weights.size()}, nb::dtype<uint8_t>(), self.h);
  dict["edge_ids"] = IdView(links->edge_ids, self.h);
  nb::dict rows;
  for (const auto& [name, tensor] : links->rows) rows[name.c_str()] = ToNumpy(tensor);
  dict["rows"] = rows;
  return dict;
}

void BindBatch(nb::module_& m) {
  nb::class_<LoadedBatch>(m, "LoadedBatch")
      .def_prop_ro("epoch", [](const LoadedBatch& b) { return b.batch.epoch; })
      .def_prop_ro("step", [](const LoadedBatch& b) { return b.batch.step; })
      .def_prop_ro("num_seeds", [](const LoadedBatch& b) { return b.batch.num_seeds; })
      .def_prop_ro("global_num_seeds", [](const LoadedBatch& b) { return b.batch.global_num_seeds; })
      .def_prop_ro("has_links", [](const LoadedBatch& b) { return b.batch.links.has_value(); })
      .def_prop_ro("num_layers", [](const LoadedBatch& b) { return b.batch.layers.size(); })
      .def("num_inputs", [](const LoadedBatch& b, size_t layer) { return b.batch.layers.at(layer).num_inputs; })
      .def("num_outputs", [](const LoadedBatch& b, size_t layer) { return b.batch.layers.at(layer).num_outputs; })
      .def("nodes", [](BatchHandle self, size_t type) { return IdView(self.p->batch.nodes.at(type), self.h); })
      .def("blocks", [](BatchHandle self, size_t layer) { return Blocks(self, layer); })
      .def("links", [](BatchHandle self) { return Links(self); })
      .def("rows", [](BatchHandle self, size_t fetch) { return ShareWithNumpy(self.p->rows.at(fetch)); });
}

void BindSettings(nb::module_& m) {
  nb::class_<LoaderSettings>(m, "LoaderSettings")
      .def(nb::init<>())
      .def_rw("batch_size", &LoaderSettings::batch_size)
      .def_rw("shuffle", &LoaderSettings::shuffle)
      .def_rw("drop_last", &LoaderSettings::drop_last)
      .def_rw("fanouts", &LoaderSettings::fanouts)
      .def_rw("seed", &LoaderSettings::seed)
      .def_rw("method", &LoaderSettings::method)
      .def_rw("expand", &LoaderSettings::expand)
      .def_rw("weight", &LoaderSettings::weight)
      .def_rw("time_column", &LoaderSettings::time_column)
      .def_rw("seed_time_column", &LoaderSettings::seed_time_column)
      .def_rw("replace", &LoaderSettings::replace)
      .def_rw("layer_dependency", &LoaderSettings::layer_dependency)
      .def_rw("threads", &LoaderSettings::threads)
      .def_rw("batches_ahead", &LoaderSettings::batches_ahead)
      .def_rw("want_edge_ids", &LoaderSettings::want_edge_ids)
      .def_rw("by_samplers", &LoaderSettings::by_samplers)
      .def_rw("fetches", &LoaderSettings::fetches)
      .def_rw("feature_cache_bytes", &LoaderSettings::feature_cache_bytes)
      .def_rw("feature_cache_steps", &LoaderSettings::feature_cache_steps);
  nb::class_<EdgeSettings>(m, "EdgeSettings")
      .def(nb::init<>())
      .def_rw("negatives", &EdgeSettings::negatives)
      .def_rw("negatives_per_edge", &EdgeSettings::negatives_per_edge)
      .def_rw("exclude", &EdgeSettings::exclude)
      .def_rw("reverse_types", &EdgeSettings::reverse_types)
      .def_rw("edge_columns", &EdgeSettings::edge_columns)
      .def_rw("want_pair_ids", &EdgeSettings::want_pair_ids);
}

}  // namespace

void BindLoaders(nb::module_& m) {
  BindBatch(m);
  BindSettings(m);
  nb::class_<Loader>(m, "Loader")
      .def("start_epoch",
           [](Loader& loader, uint32_t epoch, uint32_t first_step) {
             CallInterruptibly({}, Deadline::Never(), [&](Deadline) { return loader.StartEpoch(epoch, first_step); });
           })
      .def("next", &Next)
      .def("cancel", &Loader::Cancel, nb::call_guard<nb::gil_scoped_release>())
      .def("feature_cache_counts", &Loader::FeatureCacheCounts);
  nb::class_<BatchSampler>(m, "BatchSampler").def("sample", &BatchSampler::Sample);
  m.def("batch_sampler", [](const std::shared_ptr<DistGraph>& graph, const LoaderSettings& settings) {
    return std::make_unique<BatchSampler>(graph, settings);
  });
  m.def("nodes_of_split", &NodesOfSplit);
  m.def("nodes_of_rank", &NodesOfRank);
  m.def("edges_of_split", &EdgesOfSplit);
  m.def("edges_of_rank", &EdgesOfRank);
}

}  // namespace espalier::python
