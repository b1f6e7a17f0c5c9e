// `keep_` has a flag for each candidate. The constructor clears the flags of the reverses of self-loops, and the Drop
// functions clear further flags. Apply writes the kept candidates in parallel over blocks: it counts the kept
// candidates of each block first, which gives the positions where the blocks are written.
#include "services/graph/edge_filter.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "services/base/parallel.h"
#include "services/graph/id_values.h"
#include "services/graph/pair_set.h"

namespace espalier::graph {
namespace {

template <class Body>
void ForEach(int threads, uint64_t count, const Body& body) {
  ParallelFor(threads, static_cast<int64_t>(count), kCheapGrain, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) body(i);
  });
}

// Access to the source and destination of every candidate.
template <class T>
struct Candidates {
  std::span<const T> sources, destinations;
  T source(size_t c) const { return c < sources.size() ? sources[c] : destinations[c - sources.size()]; }
  T destination(size_t c) const { return c < sources.size() ? destinations[c] : sources[c - sources.size()]; }
};

// Calls visit(Candidates<T>).
template <class Visitor>
void VisitCandidates(const Tensor& sources, const Tensor& destinations, const Visitor& visit) {
  VisitIds(sources, [&]<class T>(std::span<const T> source_ids) {
    visit(Candidates<T>{source_ids, destinations.values<T>()});
  });
}

// Of the kept candidates with the same endpoints, clears `keep` for all except the one with the smallest number. Groups
// the kept candidates by destination, which takes 4 or 8 bytes (sizeof(Index)) for each kept candidate and 8 bytes for
// each destination.
template <class Index, class T>
void ClearDuplicates(const Candidates<T>& candidates, uint64_t num_destinations, int threads,
                     std::vector<uint8_t>& keep) {
  std::vector<uint64_t> begin(num_destinations + 2, 0);
  for (size_t c = 0; c < keep.size(); ++c) begin[static_cast<size_t>(candidates.destination(c)) + 2] += keep[c];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Index> grouped(begin.back());
  for (size_t c = 0; c < keep.size(); ++c) {
    if (keep[c] != 0) grouped[begin[static_cast<size_t>(candidates.destination(c)) + 1]++] = static_cast<Index>(c);
  }
  ForEach(threads, num_destinations, [&](size_t v) {
    const auto first = grouped.begin() + static_cast<int64_t>(begin[v]);
    const auto last = grouped.begin() + static_cast<int64_t>(begin[v + 1]);
    std::sort(first, last, [&](Index a, Index b) {
      return std::pair(candidates.source(a), a) < std::pair(candidates.source(b), b);
    });
    for (auto at = first; at != last; ++at) {
      if (at != first && candidates.source(*at) == candidates.source(*(at - 1))) keep[*at] = 0;
    }
  });
}

// Returns the position at which the first kept candidate of each block of kCheapGrain candidates is written, and as the
// last entry the number of kept candidates: [blocks + 1].
std::vector<uint64_t> ComputeBlockStarts(const std::vector<uint8_t>& keep) {
  std::vector<uint64_t> starts = {0};
  for (size_t begin = 0; begin < keep.size(); begin += kCheapGrain) {
    const size_t end = std::min(keep.size(), begin + kCheapGrain);
    starts.push_back(starts.back() + static_cast<uint64_t>(std::count(keep.begin() + static_cast<int64_t>(begin),
                                                                      keep.begin() + static_cast<int64_t>(end), 1)));
  }
  return starts;
}

// Calls body(position, candidate) for each kept candidate, in parallel over blocks.
template <class Body>
void ForEachKept(const std::vector<uint8_t>& keep, const std::vector<uint64_t>& starts, int threads, const Body& body) {
  ParallelFor(threads, static_cast<int64_t>(starts.size()) - 1, 1, [&](int64_t first_block, int64_t last_block) {
    uint64_t position = starts[static_cast<size_t>(first_block)];
    const size_t end = std::min(keep.size(), static_cast<size_t>(last_block * kCheapGrain));
    for (auto c = static_cast<size_t>(first_block * kCheapGrain); c < end; ++c) {
      if (keep[c] != 0) body(position++, c);
    }
  });
}

}  // namespace

EdgeFilter::EdgeFilter(const EdgeSet& edges, Reverses reverses, int threads)
    : num_edges_(edges.num_edges()),
      threads_(threads),
      sources_(edges.sources),
      destinations_(edges.destinations),
      keep_(reverses == Reverses::kAdded ? 2 * num_edges_ : num_edges_, 1) {
  if (reverses == Reverses::kNone) return;
  VisitCandidates(sources_, destinations_, [&](const auto& candidates) {
    ForEach(threads_, num_edges_, [&](size_t i) {
      if (candidates.source(i) == candidates.destination(i)) keep_[num_edges_ + i] = 0;
    });
  });
}

void EdgeFilter::DropSelfLoops() {
  VisitCandidates(sources_, destinations_, [&](const auto& candidates) {
    ForEach(threads_, keep_.size(), [&](size_t c) {
      if (candidates.source(c) == candidates.destination(c)) keep_[c] = 0;
    });
  });
}

void EdgeFilter::DropDuplicates(uint64_t num_destinations) {
  VisitCandidates(sources_, destinations_, [&](const auto& candidates) {
    if (keep_.size() < (uint64_t{1} << 32)) {
      ClearDuplicates<uint32_t>(candidates, num_destinations, threads_, keep_);
    } else {
      ClearDuplicates<uint64_t>(candidates, num_destinations, threads_, keep_);
    }
  });
}

void EdgeFilter::DropPairs(std::span<const std::pair<uint64_t, uint64_t>> pairs) {
  if (pairs.empty()) return;
  const PairSet dropped(pairs);
  VisitCandidates(sources_, destinations_, [&](const auto& candidates) {
    ForEach(threads_, keep_.size(), [&](size_t c) {
      if (dropped.Contains(candidates.source(c), candidates.destination(c))) keep_[c] = 0;
    });
  });
}

uint64_t EdgeFilter::num_kept() const { return static_cast<uint64_t>(std::count(keep_.begin(), keep_.end(), 1)); }

EdgeSet EdgeFilter::Apply(EdgeSet edges) const {
  const std::vector<uint64_t> starts = ComputeBlockStarts(keep_);
  const auto num_kept = static_cast<int64_t>(starts.back());
  if (starts.back() == num_edges_ && keep_.size() == num_edges_) return edges;  // all edges are kept

  EdgeSet kept{.sources = Tensor::Zeros(sources_.dtype(), {num_kept}),
               .destinations = Tensor::Zeros(sources_.dtype(), {num_kept})};
  VisitCandidates(sources_, destinations_, [&]<class T>(const Candidates<T>& candidates) {
    const auto new_sources = kept.sources.mutable_values<T>();
    const auto new_destinations = kept.destinations.mutable_values<T>();
    ForEachKept(keep_, starts, threads_, [&](size_t position, size_t c) {
      new_sources[position] = candidates.source(c);
      new_destinations[position] = candidates.destination(c);
    });
  });
  if (starts.back() != keep_.size()) {  // otherwise each edge's original ID is its position
    kept.original_ids = Tensor::Zeros(DType::kU64, {num_kept});
    const auto ids = kept.original_ids.mutable_values<uint64_t>();
    ForEachKept(keep_, starts, threads_, [&](size_t position, size_t c) { ids[position] = c; });
  }
  while (!edges.columns.empty()) {
    auto column = edges.columns.extract(edges.columns.begin());
    const Tensor rows = std::move(column.mapped());
    std::vector<int64_t> shape = rows.shape();
    shape[0] = num_kept;
    Tensor gathered = Tensor::Zeros(rows.dtype(), std::move(shape));
    std::byte* to = gathered.mutable_bytes();
    const size_t row_bytes = rows.row_bytes();
    ForEachKept(keep_, starts, threads_, [&](size_t position, size_t c) {
      const size_t edge = c < num_edges_ ? c : c - num_edges_;
      if (row_bytes != 0) std::memcpy(to + position * row_bytes, rows.bytes() + edge * row_bytes, row_bytes);
    });
    kept.columns.emplace(std::move(column.key()), std::move(gathered));
  }
  return kept;
}

}  // namespace espalier::graph
