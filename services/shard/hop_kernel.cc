// SampleRelation runs in three passes (hop_kernel.h): ReadRows reads the bounds of all rows and adds up the worst-case
// cost, which is checked before anything is drawn; DrawAndGather then alternates between drawing a chunk of rows and
// gathering the previous chunk, whose entries have been prefetched in the meantime. The Drawer decides which positions
// of a row are drawn.
#include "services/shard/hop_kernel.h"

#include <algorithm>
#include <cstring>

#include "services/base/philox.h"
#include "services/sampler/draws/draw_words.h"
#include "services/sampler/draws/labor_draws.h"
#include "services/sampler/draws/neighbor_draws.h"
#include "services/sampler/draws/weighted_draws.h"
#include "services/shard/id_array.h"
#include "services/shard/remaining_edges.h"
#include "services/shard/time_columns.h"

namespace espalier::shard {
namespace {

using sampler::DrawMethod;
using sampler::kFullNeighborhood;

constexpr size_t kRowPrefetchDistance = 24;
// Entries are prefetched when they are drawn, and are gathered one chunk later. The cache lines of a chunk fill most of
// the first-level cache.
constexpr size_t kDrawsPerChunk = 384;
constexpr size_t kMaxRowsPerChunk = 64;

// A destination's in-edges: positions [begin, begin + degree) among the relation's in-edges in the partition. In-edges
// whose timestamp is later than the destination's time follow these and do not count. If in-edges are excluded, the
// Drawer reduces `degree` to the number of remaining ones, whose positions are in RemainingEdges::positions.
struct Row {
  uint64_t begin;
  uint64_t stream;  // random stream: the node's original id, or the number of a walk
  uint32_t degree;
  ExcludedEdges::Range excluded = {};
  uint32_t kept_slot = 0;  // 1 + index in Drawer::kept_; 0: none of these in-edges is excluded
};

struct Rows {
  std::vector<Row> rows;
  uint64_t max_draws = 0;  // in-edges that may be drawn, over all rows
  uint64_t lookups = 0;    // in-edges that LABOR and exclusion visit, over all rows
};

template <class Indptr>
Result<Rows> ReadRows(std::span<const Indptr> indptr, const IdArray& original_ids,
                      std::span<const LocalNodeId> destinations, const HopOptions& options) {
  const size_t num_rows = indptr.size() - 1;
  const ExcludedEdges excluded(options.excluded_destinations, options.excluded_sources);
  Rows read;
  read.rows.reserve(destinations.size());
  for (size_t i = 0; i < destinations.size(); ++i) {
    if (i + kRowPrefetchDistance < destinations.size()) {
      // (Prefetching an invalid address has no effect.)
      const uint32_t later = destinations[i + kRowPrefetchDistance].value;
      __builtin_prefetch(indptr.data() + later);
      original_ids.Prefetch(later);
    }
    const uint32_t v = destinations[i].value;
    if (v >= num_rows) {
      return InvalidArgument("destination " + std::to_string(v) + " is not one of the " + std::to_string(num_rows) +
                             " nodes that the partition owns");
    }
    auto degree = static_cast<uint32_t>(indptr[v + 1] - indptr[v]);
    if (options.edge_times != nullptr) {
      degree = CountNotLater(*options.edge_times, indptr[v], degree, options.destination_times[i]);
    }
    const uint64_t stream = options.walks.empty() ? original_ids[v] : options.walks[i];
    read.rows.push_back({.begin = indptr[v], .stream = stream, .degree = degree});
    if (!excluded.empty() && degree > 0) read.rows.back().excluded = excluded.FindRange(destinations[i]);
    read.max_draws += sampler::NumDrawn(degree, options.fanout, options.replace);
    const bool is_searched =
        options.method == DrawMethod::kLabor && !sampler::DrawsAll(degree, options.fanout, options.replace);
    if (is_searched) read.lookups += degree;
    if (read.rows.back().excluded.size() > 0) read.lookups += degree;
  }
  return read;
}

// A request with few draws must not cause unbounded work: LABOR and exclusion visit every in-edge of a row.
Status CheckBudget(const Rows& rows, const HopBudget& budget) {
  if (rows.lookups > budget.lookups) {
    return ResourceExhausted("a hop would read " + std::to_string(rows.lookups) +
                             " in-edges, the remaining limit of the request is " + std::to_string(budget.lookups) +
                             ": request fewer nodes at once");
  }
  if (rows.max_draws > budget.draws) {
    return ResourceExhausted("a hop would sample up to " + std::to_string(rows.max_draws) +
                             " in-edges, the remaining limit of the request is " + std::to_string(budget.draws));
  }
  return {};
}

// Draws positions from the rows of one chunk after another.
class Drawer {
 public:
  Drawer(const HopOptions& options, const Tensor& indices)
      : options_(options),
        excluded_(options.excluded_destinations, options.excluded_sources),
        sources_(indices),
        indices_(indices.bytes()),
        index_bytes_(ItemSize(indices.dtype())),
        labor_(options.key) {
    if (options.fanout != kFullNeighborhood) blocks_ = sampler::NumDrawBlocks(static_cast<uint32_t>(options.fanout));
  }

  // Draws from a chunk of rows: sets `positions` to the drawn positions of all these rows, among the relation's
  // in-edges in the partition, and counts[i] to the number that was drawn from row i. `stored`: the rows before
  // exclusion.
  void Draw(std::span<const Row> stored, std::vector<uint64_t>& positions, uint32_t* counts) {
    const std::span<const Row> rows = excluded_.empty() ? stored : ApplyExclusion(stored);
    PrepareWords(rows);
    size_t max_draws = 0;
    for (const Row& row : rows) max_draws += sampler::NumDrawn(row.degree, options_.fanout, options_.replace);
    positions.resize(max_draws);
    uint64_t* next = positions.data();
    const uint32_t* words = words_.data();
    for (size_t i = 0; i < rows.size(); ++i) {
      const bool reads_words = ReadsWords(rows[i]);
      counts[i] = DrawRow(rows[i], words);
      if (reads_words) words += size_t{4} * blocks_;
      for (uint32_t k = 0; k < counts[i]; ++k) {
        next[k] = rows[i].begin + ToStoredPosition(rows[i], row_positions_[k]);
        __builtin_prefetch(indices_ + next[k] * index_bytes_);
      }
      next += counts[i];
    }
    positions.resize(static_cast<size_t>(next - positions.data()));
  }

 private:
  bool TakesAllEdges(const Row& row) const { return sampler::DrawsAll(row.degree, options_.fanout, options_.replace); }
  bool ReadsWords(const Row& row) const { return options_.method == DrawMethod::kNeighbor && !TakesAllEdges(row); }

  // Returns the rows of a chunk after exclusion. Only one chunk's RemainingEdges are held at a time, because a request
  // may repeat a node of high degree.
  std::span<const Row> ApplyExclusion(std::span<const Row> stored) {
    rows_.assign(stored.begin(), stored.end());
    if (kept_.size() < rows_.size()) kept_.resize(rows_.size());
    uint32_t num_kept = 0;
    for (Row& row : rows_) {
      if (row.excluded.size() == 0) continue;
      RemainingEdges& kept = kept_[num_kept];
      const std::span<const uint32_t> sums =
          options_.weight_sums == nullptr ? std::span<const uint32_t>() : SelectSums(row);
      FindRemaining(sources_, row.begin, row.degree, excluded_.SourcesIn(row.excluded), sums, kept);
      if (kept.positions.size() == row.degree) continue;
      row.degree = static_cast<uint32_t>(kept.positions.size());
      row.kept_slot = ++num_kept;
    }
    return rows_;
  }

  // Maps a position among the kept in-edges to the position in the stored row.
  uint32_t ToStoredPosition(const Row& row, uint32_t position) const {
    return row.kept_slot == 0 ? position : kept_[row.kept_slot - 1].positions[position];
  }

  std::span<const uint32_t> SelectSums(const Row& row) const {
    if (row.kept_slot != 0) return kept_[row.kept_slot - 1].weight_sums;
    return {options_.weight_sums + row.begin, row.degree};
  }

  // Generates the random words of the rows and prefetches the rows' prefix sums of weights.
  void PrepareWords(std::span<const Row> rows) {
    streams_.clear();
    for (const Row& row : rows) {
      if (options_.weight_sums != nullptr && row.degree > 0) {
        __builtin_prefetch(&SelectSums(row).back());
        if (TakesAllEdges(row)) __builtin_prefetch(SelectSums(row).data());
      }
      if (ReadsWords(row)) streams_.push_back(row.stream);
    }
    words_.resize(streams_.size() * 4 * blocks_);
    sampler::FillDrawWords(options_.key, streams_, blocks_, words_.data());
    if (options_.weight_sums != nullptr) PrefetchSums(rows);
  }

  // Prefetches the prefix sums around the position at which the binary search for each draw probably ends.
  void PrefetchSums(std::span<const Row> rows) const {
    const uint32_t* words = words_.data();
    for (const Row& row : rows) {
      if (!ReadsWords(row)) continue;
      const uint32_t total = SelectSums(row).back();
      const float scale = sampler::PositionsPerWeight(row.degree, total);
      for (int32_t k = 0; k < options_.fanout && total > 0; ++k) {
        const auto guess = static_cast<uint32_t>(static_cast<float>(BoundedDraw(words[k], total)) * scale);
        const uint32_t* const middle = SelectSums(row).data() + guess;
        __builtin_prefetch(middle - sampler::kSearchWindow / 2);
        __builtin_prefetch(middle + sampler::kSearchWindow / 2 - 1);
      }
      words += size_t{4} * blocks_;
    }
  }

  // Writes the row's drawn positions to row_positions_ and returns their number.
  uint32_t DrawRow(const Row& row, const uint32_t* words) {
    const uint32_t max_count = sampler::NumDrawn(row.degree, options_.fanout, options_.replace);
    if (row_positions_.size() < max_count) row_positions_.resize(max_count);
    uint32_t* const positions = row_positions_.data();
    if (options_.method == DrawMethod::kLabor && !TakesAllEdges(row)) return DrawLaborRow(row, max_count);
    if (options_.method == DrawMethod::kLast && !TakesAllEdges(row)) return DrawLastOfRow(row, max_count);
    if (options_.weight_sums != nullptr) return DrawWeightedRow(row, words, max_count);
    if (TakesAllEdges(row)) {
      for (uint32_t k = 0; k < max_count; ++k) positions[k] = k;
    } else if (options_.replace) {
      sampler::DrawWithReplacement(words, row.degree, max_count, positions);
    } else {
      sampler::DrawWithoutReplacement(words, row.degree, max_count, scratch_, positions);
    }
    return max_count;
  }

  uint32_t DrawWeightedRow(const Row& row, const uint32_t* words, uint32_t max_count) {
    uint32_t* const positions = row_positions_.data();
    if (TakesAllEdges(row)) return sampler::FindPositiveWeights(SelectSums(row), positions);
    if (!options_.replace) {
      return sampler::DrawWeightedWithoutReplacement(options_.key, row.stream, words, SelectSums(row), max_count,
                                                     positions);
    }
    if (SelectSums(row).back() == 0) return 0;
    sampler::DrawWeightedWithReplacement(words, SelectSums(row), max_count, positions);
    return max_count;
  }

  uint32_t DrawLaborRow(const Row& row, uint32_t max_count) {
    const IdArray ids(*options_.source_ids);
    const auto fill = [&](uint32_t first, std::span<uint64_t> some) {
      for (uint32_t k = 0; k < some.size(); ++k) some[k] = ids[row.begin + ToStoredPosition(row, first + k)];
    };
    const std::span<const uint32_t> sums =
        options_.weight_sums == nullptr ? std::span<const uint32_t>() : SelectSums(row);
    return labor_.Draw(row.degree, fill, sums, max_count, row_positions_.data());
  }

  // Draws the last positions; with weights, the last ones of positive weight.
  uint32_t DrawLastOfRow(const Row& row, uint32_t max_count) {
    uint32_t* const positions = row_positions_.data();
    if (options_.weight_sums == nullptr) {
      for (uint32_t k = 0; k < max_count; ++k) positions[k] = row.degree - max_count + k;
      return max_count;
    }
    // Of the positions whose prefix sum is `reached`, the first has positive weight and the others have none. The next
    // search is for the prefix sum before that first position.
    const std::span<const uint32_t> sums = SelectSums(row);
    uint32_t count = 0;
    for (uint32_t reached = sums.back(); reached > 0 && count < max_count;) {
      const auto position = static_cast<uint32_t>(std::lower_bound(sums.begin(), sums.end(), reached) - sums.begin());
      positions[count++] = position;
      reached = position == 0 ? 0 : sums[position - 1];
    }
    std::reverse(positions, positions + count);
    return count;
  }

  const HopOptions& options_;
  const ExcludedEdges excluded_;
  const IdArray sources_;
  const std::byte* const indices_;
  const size_t index_bytes_;
  sampler::LaborDraws labor_;
  uint32_t blocks_ = 0;  // blocks of four random words for a row; 0 with a full neighborhood
  sampler::DrawScratch scratch_;
  std::vector<uint64_t> streams_;        // of the chunk's rows that read random words
  std::vector<uint32_t> words_;          // [streams_, blocks_, 4]
  std::vector<uint32_t> row_positions_;  // drawn from one row
  std::vector<Row> rows_;                // of the chunk, if edges are excluded
  std::vector<RemainingEdges> kept_;     // by Row::kept_slot - 1
};

// An output array whose final length is known only at the end.
template <class T>
class Output {
 public:
  Output(BufferPool& buffers, uint64_t max_length)
      : buffer_(buffers.Take(max_length * sizeof(T))), first_(reinterpret_cast<T*>(buffer_.get())), next_(first_) {}

  T* Extend(size_t count) {
    T* const extended = next_;
    next_ += count;
    return extended;
  }
  Tensor Finish() && { return Tensor::Wrap(DTypeOf<T>::value, {next_ - first_}, first_, std::move(buffer_)); }

 private:
  std::shared_ptr<std::byte> buffer_;
  T* first_;
  T* next_;
};

size_t RowsPerChunk(int32_t fanout) {
  if (fanout == kFullNeighborhood) return 1;
  return std::clamp<size_t>(kDrawsPerChunk / static_cast<size_t>(fanout), 1, kMaxRowsPerChunk);
}

// Performs passes 2 and 3: draws chunk by chunk and gathers one chunk behind.
template <class Index, class EdgeId>
sampler::PartitionRelationSample DrawAndGather(const graph::InEdges& edges, const Rows& rows, const HopOptions& options,
                                               BufferPool& buffers) {
  const auto* const indices = reinterpret_cast<const Index*>(edges.indices.bytes());
  Output<Index> sources(buffers, rows.max_draws);
  Output<EdgeId> edge_ids(buffers, options.want_edge_ids ? rows.max_draws : 0);
  const auto gather = [&](const std::vector<uint64_t>& positions) {
    Index* const out = sources.Extend(positions.size());
    for (size_t k = 0; k < positions.size(); ++k) out[k] = indices[positions[k]];
    if (!options.want_edge_ids) return;
    EdgeId* const ids = edge_ids.Extend(positions.size());
    for (size_t k = 0; k < positions.size(); ++k) ids[k] = static_cast<EdgeId>(options.first_edge + positions[k]);
  };

  const std::span<const Row> all(rows.rows);
  std::vector<uint32_t> counts(all.size());
  Drawer drawer(options, edges.indices);
  std::vector<uint64_t> drawn, waiting;
  const size_t chunk = RowsPerChunk(options.fanout);
  for (size_t first = 0; first < all.size(); first += chunk) {
    drawer.Draw(all.subspan(first, std::min(chunk, all.size() - first)), drawn, counts.data() + first);
    gather(waiting);
    waiting.swap(drawn);
  }
  gather(waiting);
  return {.counts = Tensor::FromVector(std::move(counts)),
          .sources = std::move(sources).Finish(),
          .edge_ids = options.want_edge_ids ? std::move(edge_ids).Finish() : Tensor()};
}

template <class Index>
sampler::PartitionRelationSample DrawByEdgeIdType(const graph::InEdges& edges, const Rows& rows,
                                                  const HopOptions& options, BufferPool& buffers) {
  if (options.wide_edge_ids) return DrawAndGather<Index, uint64_t>(edges, rows, options, buffers);
  return DrawAndGather<Index, uint32_t>(edges, rows, options, buffers);
}

}  // namespace

Result<sampler::PartitionRelationSample> SampleRelation(const graph::InEdges& edges, const Tensor& original_ids,
                                                        std::span<const LocalNodeId> destinations,
                                                        const HopOptions& options, HopBudget& budget,
                                                        BufferPool& buffers) {
  const IdArray ids(original_ids);
  Result<Rows> rows = edges.indptr.dtype() == DType::kU32
                          ? ReadRows(edges.indptr.values<uint32_t>(), ids, destinations, options)
                          : ReadRows(edges.indptr.values<uint64_t>(), ids, destinations, options);
  if (!rows.ok()) return std::move(rows).status();
  RETURN_IF_ERROR(CheckBudget(*rows, budget));
  sampler::PartitionRelationSample sample = edges.indices.dtype() == DType::kU32
                                                ? DrawByEdgeIdType<uint32_t>(edges, *rows, options, buffers)
                                                : DrawByEdgeIdType<uint64_t>(edges, *rows, options, buffers);
  budget.draws -= static_cast<uint64_t>(sample.sources.num_elements());
  budget.lookups -= rows->lookups;
  return sample;
}

}  // namespace espalier::shard
