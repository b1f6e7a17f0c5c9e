// FeatureCache::Batches wraps the loader's source of mini-batches. Batches::Next ends the step of the previous
// mini-batch, samples ahead, and begins the step of the mini-batch that it returns. A loader collates a mini-batch
// before it requests the next one, so a step lasts until its rows are gathered, and one thread at a time uses the
// cache.
//
// Steps are scheduled only within an epoch, because a program may start any epoch next. Cached rows stay for the next
// epoch. The first mini-batch of an epoch is returned before others are sampled ahead (BatchWindow::Grow).
//
// The nodes of the begun step are copied: ScheduledRowCache recognizes them by their address, and `collate` may move or
// destroy its mini-batch. The copy is small compared with the rows.
#include "services/client/loaders/feature_cache.h"

#include <algorithm>
#include <optional>

#include "services/sampler/batches/batch_window.h"

namespace espalier::client {
namespace {

Result<std::vector<sampler::ColumnDescription>> FindColumns(const DistGraph& graph,
                                                            const FeatureCacheOptions& options) {
  std::vector<sampler::ColumnDescription> columns;
  for (const auto& wanted : options.columns) {
    RETURN_IF_ERROR(graph.schema().CheckNodeType(wanted.first));
    const auto is_wanted = [&wanted](const sampler::ColumnDescription& column) {
      return column.node_type == wanted.first && column.name == wanted.second;
    };
    if (std::any_of(columns.begin(), columns.end(), is_wanted)) continue;
    const auto found = std::find_if(graph.node_columns().begin(), graph.node_columns().end(), is_wanted);
    if (found == graph.node_columns().end()) {
      return NotFound("feature cache: node type '" + graph.schema().NodeTypeName(wanted.first) + "' has no column '" +
                      wanted.second + "', expected a column of the graph (attached tensors cannot be cached)");
    }
    columns.push_back(*found);
  }
  return columns;
}

}  // namespace

// Mini-batches of another source, sampled ahead.
class FeatureCache::Batches final : public sampler::MiniBatchSource {
 public:
  Batches(std::shared_ptr<FeatureCache> cache, std::unique_ptr<sampler::MiniBatchSource> source)
      : cache_(std::move(cache)),
        source_(std::move(source)),
        window_({.rows = cache_->rows_.get(),
                 .steps = cache_->options_.steps,
                 .max_bytes = cache_->options_.memory_bytes}) {}
  ~Batches() override {
    Abandon();
    MutexLock lock(&cache_->mutex_);
    cache_->is_used_ = false;
  }

  Status StartEpoch(uint32_t epoch, uint32_t first_step) override {
    Abandon();
    return source_->StartEpoch(epoch, first_step);
  }
  // An error of sampling is returned after the mini-batches that were sampled before it.
  Result<sampler::MiniBatch> Next(Deadline deadline) override {
    cache_->EndStep();
    SampleAhead(deadline);
    if (deadline.stop().stop_requested()) return Cancelled("the epoch was cancelled");
    if (window_.empty()) return *end_;
    Sampled sampled = window_.Pop();
    cache_->BeginStep(sampled.batch.nodes);
    return std::move(sampled.batch);
  }
  void Cancel() override { source_->Cancel(); }

 private:
  struct Sampled {
    sampler::MiniBatch batch;
  };

  // Samples until the window is full. `deadline` applies to the first mini-batch of an empty window; each further
  // mini-batch has the timeout of one call.
  void SampleAhead(const Deadline& deadline) {
    window_.Grow();
    while (!end_.has_value() && window_.HasRoom()) {
      const Deadline call_deadline = Deadline::After(cache_->call_timeout_).OrStop(deadline.stop());
      Result<sampler::MiniBatch> batch = source_->Next(window_.empty() ? deadline : call_deadline);
      if (!batch.ok()) {
        end_ = std::move(batch).status();
      } else {
        window_.Push({*std::move(batch)});
      }
    }
  }
  void Abandon() {
    cache_->EndStep();
    window_.Clear();
    end_.reset();
  }

  const std::shared_ptr<FeatureCache> cache_;
  const std::unique_ptr<sampler::MiniBatchSource> source_;
  sampler::BatchWindow<Sampled> window_;
  std::optional<Status> end_;  // OutOfRange (end of the epoch) or an error; Next returns it when window_ is empty
};

Result<std::shared_ptr<FeatureCache>> FeatureCache::Make(const DistGraph& graph, const FeatureCacheOptions& options) {
  if (options.memory_bytes == 0) return InvalidArgument("feature cache: 0 bytes of memory, expected at least 1");
  if (options.steps == 0 || options.steps > kMaxSteps) {
    return InvalidArgument("feature cache: " + std::to_string(options.steps) + " steps, expected 1 to " +
                           std::to_string(kMaxSteps));
  }
  if (options.columns.empty()) return InvalidArgument("feature cache: no columns, expected at least one node column");
  ASSIGN_OR_RETURN(const std::vector<sampler::ColumnDescription> columns, FindColumns(graph, options));
  return std::shared_ptr<FeatureCache>(new FeatureCache(graph, columns, options));
}

FeatureCache::FeatureCache(const DistGraph& graph, const std::vector<sampler::ColumnDescription>& columns,
                           const FeatureCacheOptions& options)
    : graph_(graph.shared_partitions()),
      call_timeout_(graph.context().call_timeout),
      options_(options),
      rows_(sampler::HasRemoteRows(*graph_, graph_->book())
                ? std::make_unique<sampler::ScheduledRowCache>(*graph_, graph_->book(), columns, options.memory_bytes)
                : nullptr) {}

Result<std::unique_ptr<sampler::MiniBatchSource>> FeatureCache::MakeBatches(
    std::shared_ptr<FeatureCache> cache, const DistGraph& graph, std::unique_ptr<sampler::MiniBatchSource> source) {
  if (cache->graph_ != graph.shared_partitions()) {
    return InvalidArgument(
        "the loader's feature cache was made for another graph: make it with the loader's DistGraph");
  }
  {
    MutexLock lock(&cache->mutex_);
    if (cache->is_used_) {
      return FailedPrecondition("the feature cache is used by another loader: make one for each loader");
    }
    cache->is_used_ = true;
  }
  return std::unique_ptr<sampler::MiniBatchSource>(new Batches(std::move(cache), std::move(source)));
}

Result<Tensor> FeatureCache::GatherNodeRows(NodeTypeId type, const std::string& column,
                                            std::span<const GlobalNodeId> nodes, const Deadline& deadline) {
  const bool is_of_step = has_begun_ && type.value < nodes_.size() && std::ranges::equal(nodes, nodes_[type.value]);
  if (!is_of_step) return sampler::GatherValues(*graph_, type, column, nodes, deadline);
  return sampler::GatherValues(*rows_, type, column, nodes_[type.value], deadline);
}

void FeatureCache::BeginStep(const std::vector<std::vector<GlobalNodeId>>& nodes) {
  if (rows_ == nullptr) return;
  nodes_ = nodes;
  rows_->BeginStep(nodes_);
  has_begun_ = true;
}

void FeatureCache::EndStep() {
  if (!has_begun_) return;
  rows_->EndStep();
  has_begun_ = false;
  MutexLock lock(&mutex_);
  counts_ = rows_->counts();
  held_bytes_ = rows_->held_bytes();
}

sampler::RowCacheCounts FeatureCache::counts() const {
  MutexLock lock(&mutex_);
  return counts_;
}

uint64_t FeatureCache::held_bytes() const {
  MutexLock lock(&mutex_);
  return held_bytes_;
}

}  // namespace espalier::client
