// The kernels of message passing, attention and dropout (services/kernels) over arrays of NumPy, PyTorch or any other
// library with DLPack.
//
// Edges copies a block's indptr and indices and checks them once: every index is a row that exists. The copy cannot
// change afterwards, so comparing shapes is enough to keep each operation inside its arrays. Matrices are not copied:
// an operation reads and writes arrays of the caller, without the interpreter's lock. The arguments of an operation are
// those of the kernel that it calls; a matrix of H heads with C columns each is f32 [rows, H * C].
#include <malloc.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/bindings.h"
#include "python/bindings/waits.h"
#include "services/base/random_purpose.h"
#include "services/kernels/activation.h"
#include "services/kernels/attention.h"
#include "services/kernels/dropout_half_words.h"
#include "services/kernels/row_ranges.h"
#include "services/kernels/segments.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace espalier::python {
namespace {

using kernels::HeadShape;
using kernels::Segments;

// Arrays are checked here and not by nanobind, whose errors contain neither the name of the array nor the reason.
using Input = nb::ndarray<nb::ro>;
using Output = nb::ndarray<>;
using OptionalInput = std::optional<Input>;
using OptionalOutput = std::optional<Output>;

std::string ShapeText(std::initializer_list<int64_t> shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

template <class Array>
std::string ShapeText(const Array& array) {
  std::string text = "[";
  for (size_t i = 0; i < array.ndim(); ++i) text += (i > 0 ? ", " : "") + std::to_string(array.shape(i));
  return text + "]";
}

[[noreturn]] void Refuse(const std::string& name, const std::string& what) {
  throw StatusError(InvalidArgument(name + " " + what));
}

template <class T>
const char* DTypeName() {
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, int32_t>) return "int32";
  if constexpr (std::is_same_v<T, int64_t>) return "int64";
  if constexpr (std::is_same_v<T, uint8_t>) return "uint8";
}

// Returns a pointer to the first value of an array in CPU memory. The values of nb::ro arrays are const.
template <class T, class Array>
auto* DataOf(const Array& array, const char* name) {
  if (!(array.dtype() == nb::dtype<T>())) Refuse(name, std::string("must be ") + DTypeName<T>());
  if (array.device_type() != nb::device::cpu::value) Refuse(name, "must be in CPU memory");
  using Value = std::conditional_t<std::is_same_v<Array, Input>, const T, T>;
  return static_cast<Value*>(array.data());
}

// Returns a pointer to the first value of a dense array of this shape.
template <class T, class Array>
auto* Dense(const Array& array, const char* name, std::initializer_list<int64_t> shape) {
  auto* data = DataOf<T>(array, name);
  bool fits = array.ndim() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = static_cast<int64_t>(array.shape(i)) == shape.begin()[i];
  if (!fits) Refuse(name, "must have the shape " + ShapeText(shape) + ", not " + ShapeText(array));
  int64_t stride = 1;
  for (size_t i = shape.size(); array.size() > 0 && i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != stride) Refuse(name, "must be contiguous");
    stride *= static_cast<int64_t>(array.shape(i));
  }
  return data;
}

template <class T>
const T* DenseOrNull(const OptionalInput& array, const char* name, std::initializer_list<int64_t> shape) {
  return array ? Dense<T>(*array, name, shape) : nullptr;
}

// Returns the array as a matrix. Its rows must be contiguous, but may have gaps between them, as in a slice of columns.
template <class Array>
auto RowsIn(const Array& array, const char* name, int64_t num_rows, int64_t width) {
  auto* data = DataOf<float>(array, name);
  if (array.ndim() != 2 || static_cast<int64_t>(array.shape(0)) != num_rows ||
      static_cast<int64_t>(array.shape(1)) != width) {
    Refuse(name, "must have the shape " + ShapeText({num_rows, width}) + ", not " + ShapeText(array));
  }
  const int64_t stride = num_rows > 1 && width > 0 ? array.stride(0) : width;
  if (stride < width || (width > 1 && num_rows > 0 && array.stride(1) != 1)) {
    Refuse(name, "must have contiguous rows that do not overlap");
  }
  if constexpr (std::is_same_v<Array, Input>) {
    return kernels::ConstRows{data, stride};
  } else {
    return kernels::Rows{data, stride};
  }
}

// Returns the number of columns of a matrix.
template <class Array>
int64_t Columns(const Array& array, const char* name) {
  if (array.ndim() != 2) Refuse(name, "must be a matrix, not of shape " + ShapeText(array));
  return static_cast<int64_t>(array.shape(1));
}

// Returns the shape of a matrix of `width` columns that is divided into `heads` heads.
HeadShape Heads(int64_t heads, int64_t width, const char* name) {
  if (heads < 1 || width % heads != 0) {
    Refuse(name, "of " + std::to_string(width) + " columns cannot be divided into " + std::to_string(heads) + " heads");
  }
  return {heads, width / heads};
}

// Runs `body` without the interpreter's lock. Its kernels use up to `threads` threads; the number changes no result.
template <class Body>
void Compute(int threads, const Body& body) {
  constexpr int kMaxThreads = 1024;
  if (threads < 1 || threads > kMaxThreads) {
    Refuse("threads", "must be from 1 to " + std::to_string(kMaxThreads) + ", not " + std::to_string(threads));
  }
  const nb::gil_scoped_release released;
  omp_set_num_threads(threads);
  body();
}

// The edges of a block in order of destinations, and of sources once a gradient has needed that order. Thread-safe.
class Edges {
 public:
  // indptr: int32 [destinations + 1], indices: int32 [edges]. With self_edges, each destination i has an edge from
  // source i after its other edges.
  Edges(const Input& indptr, const Input& indices, int64_t num_sources, bool self_edges) : num_sources_(num_sources) {
    const std::vector<uint32_t> offsets = CopyWords(indptr, "indptr");
    std::vector<uint32_t> sources = CopyWords(indices, "indices");
    Check(offsets, sources);
    if (!self_edges) {
      indptr_ = offsets;
      indices_ = std::move(sources);
      return;
    }
    if (static_cast<int64_t>(offsets.size()) - 1 > num_sources) {
      Refuse("indptr", "has more rows than there are sources: the self-edge of row i needs source i");
    }
    indptr_.assign(offsets.size(), 0);
    indices_.reserve(sources.size() + offsets.size());
    for (size_t d = 0; d + 1 < offsets.size(); ++d) {
      indices_.insert(indices_.end(), sources.begin() + offsets[d], sources.begin() + offsets[d + 1]);
      indices_.push_back(static_cast<uint32_t>(d));
      indptr_[d + 1] = static_cast<uint32_t>(indices_.size());
    }
  }

  int64_t num_rows() const { return static_cast<int64_t>(indptr_.size()) - 1; }
  int64_t num_sources() const { return num_sources_; }
  int64_t num_edges() const { return static_cast<int64_t>(indices_.size()); }
  Segments segments() const { return {indptr_, indices_}; }
  kernels::EdgeView view() const {
    std::call_once(transposed_once_, [this] {
      transposed_ = kernels::Transpose(segments(), num_sources_, kernels::EdgePositions::kKeep);
    });
    return {segments(), {transposed_.indptr, transposed_.destinations}, transposed_.positions};
  }

 private:
  static std::vector<uint32_t> CopyWords(const Input& array, const char* name) {
    if (array.ndim() != 1) Refuse(name, "must be one-dimensional, not of shape " + ShapeText(array));
    const int32_t* words = Dense<int32_t>(array, name, {static_cast<int64_t>(array.shape(0))});
    return {words, words + array.shape(0)};  // as unsigned, a negative index is out of range
  }

  void Check(const std::vector<uint32_t>& indptr, const std::vector<uint32_t>& indices) const {
    constexpr int64_t kMaxRows = (int64_t{1} << 31) - 1;
    if (num_sources_ < 0 || num_sources_ > kMaxRows) {
      Refuse("num_sources", "must be from 0 to " + std::to_string(kMaxRows) + ", not " + std::to_string(num_sources_));
    }
    if (indptr.empty() || indptr.front() != 0 || indptr.back() != indices.size()) {
      Refuse("indptr", "must begin with 0 and end with the number of edges, " + std::to_string(indices.size()));
    }
    for (size_t row = 0; row + 1 < indptr.size(); ++row) {
      if (indptr[row] > indptr[row + 1]) Refuse("indptr", "descends after row " + std::to_string(row));
    }
    for (size_t e = 0; e < indices.size(); ++e) {
      if (indices[e] < static_cast<uint64_t>(num_sources_)) continue;
      Refuse("indices", "has " + std::to_string(static_cast<int32_t>(indices[e])) + " at position " +
                            std::to_string(e) + "; there are " + std::to_string(num_sources_) + " source rows");
    }
  }

  int64_t num_sources_;
  std::vector<uint32_t> indptr_, indices_;
  mutable std::once_flag transposed_once_;
  mutable kernels::TransposedSegments transposed_;
};

// With by_source, adds up over the edges of each source, as the backward pass does: `source` then has the gradients of
// the block's destinations, and `out` gets those of its sources.
void Sum(const Edges& edges, const Input& source, const Output& out, const OptionalInput& source_scale,
         const OptionalInput& initial, const OptionalInput& initial_scale, const OptionalInput& result_scale,
         bool by_source, int threads) {
  const int64_t width = Columns(source, "source");
  const int64_t num_read = by_source ? edges.num_rows() : edges.num_sources();
  const int64_t num_written = by_source ? edges.num_sources() : edges.num_rows();
  kernels::SegmentSumArguments arguments{.width = width};
  arguments.source = RowsIn(source, "source", num_read, width);
  arguments.out = RowsIn(out, "out", num_written, width);
  arguments.source_scale = DenseOrNull<float>(source_scale, "source_scale", {num_read});
  arguments.result_scale = DenseOrNull<float>(result_scale, "result_scale", {num_written});
  if (initial_scale && !initial) Refuse("initial_scale", "needs initial");
  if (initial) {
    if (initial->ndim() != 2) Refuse("initial", "must be a matrix, not of the shape " + ShapeText(*initial));
    const auto num_initial = static_cast<int64_t>(initial->shape(0));
    arguments.initial = RowsIn(*initial, "initial", num_initial, width);
    arguments.num_initial = std::min(num_initial, num_written);
    arguments.initial_scale = DenseOrNull<float>(initial_scale, "initial_scale", {num_initial});
  }
  Compute(threads, [&] {
    arguments.segments = by_source ? edges.view().by_source : edges.segments();
    kernels::SumSegments(arguments);
  });
}

void Max(const Edges& edges, const Input& source, const Output& out, const Output& winners, int threads) {
  const int64_t width = Columns(source, "source");
  const kernels::ConstRows from = RowsIn(source, "source", edges.num_sources(), width);
  const kernels::Rows to = RowsIn(out, "out", edges.num_rows(), width);
  auto* edge_of = reinterpret_cast<uint32_t*>(Dense<int32_t>(winners, "winners", {edges.num_rows(), width}));
  Compute(threads, [&] { kernels::MaxSegments(edges.segments(), width, from, to, edge_of); });
}

void MaxGradient(const Edges& edges, const Input& gradient, const Input& winners, const Output& of_source,
                 int threads) {
  const int64_t width = Columns(gradient, "gradient");
  const kernels::ConstRows from = RowsIn(gradient, "gradient", edges.num_rows(), width);
  const kernels::Rows to = RowsIn(of_source, "of_source", edges.num_sources(), width);
  // SumWonGradients only compares the values of `winners` with edge positions, so they need no check.
  const auto* edge_of =
      reinterpret_cast<const uint32_t*>(Dense<int32_t>(winners, "winners", {edges.num_rows(), width}));
  Compute(threads, [&] {
    const kernels::EdgeView view = edges.view();
    kernels::SumWonGradients(view.by_source, view.positions, width, from, edge_of, to);
  });
}

void AdditiveScores(const Edges& edges, const Input& source, const Input& destination, float negative_slope,
                    const Output& scores, int threads) {
  const int64_t heads = Columns(source, "source");
  const float* s = Dense<float>(source, "source", {edges.num_sources(), heads});
  const float* d = Dense<float>(destination, "destination", {edges.num_rows(), heads});
  float* out = Dense<float>(scores, "scores", {edges.num_edges(), heads});
  Compute(threads, [&] { kernels::AdditiveScores(edges.segments(), heads, negative_slope, s, d, out); });
}

void AdditiveScoreGradients(const Edges& edges, const Input& source, const Input& destination, float negative_slope,
                            const Input& gradient, const Output& of_source, const Output& of_destination, int threads) {
  const int64_t heads = Columns(source, "source");
  const float* s = Dense<float>(source, "source", {edges.num_sources(), heads});
  const float* d = Dense<float>(destination, "destination", {edges.num_rows(), heads});
  const float* g = Dense<float>(gradient, "gradient", {edges.num_edges(), heads});
  float* of_s = Dense<float>(of_source, "of_source", {edges.num_sources(), heads});
  float* of_d = Dense<float>(of_destination, "of_destination", {edges.num_rows(), heads});
  Compute(threads, [&] {
    std::vector<float> slopes(static_cast<size_t>(edges.num_edges() * heads));
    kernels::AdditiveScoreGradients(edges.view(), heads, negative_slope, s, d, g, slopes.data(), of_s, of_d);
  });
}

// Returns the shape of the heads. attention: f32 [H, C], one vector for each head.
HeadShape AttentionShape(const Input& attention) {
  const int64_t columns = Columns(attention, "attention");
  return Heads(static_cast<int64_t>(attention.shape(0)), static_cast<int64_t>(attention.shape(0)) * columns,
               "attention");
}

void DynamicScores(const Edges& edges, const Input& source, const Input& destination, const Input& attention,
                   float negative_slope, const Output& scores, int threads) {
  const HeadShape shape = AttentionShape(attention);
  const float* s = Dense<float>(source, "source", {edges.num_sources(), shape.width()});
  const float* d = Dense<float>(destination, "destination", {edges.num_rows(), shape.width()});
  const float* a = Dense<float>(attention, "attention", {shape.heads, shape.columns});
  float* out = Dense<float>(scores, "scores", {edges.num_edges(), shape.heads});
  Compute(threads, [&] { kernels::DynamicScores(edges.segments(), shape, negative_slope, s, d, a, out); });
}

void DynamicScoreGradients(const Edges& edges, const Input& source, const Input& destination, const Input& attention,
                           float negative_slope, const Input& gradient, const Output& of_source,
                           const Output& of_destination, const Output& of_attention, int threads) {
  const HeadShape shape = AttentionShape(attention);
  const float* s = Dense<float>(source, "source", {edges.num_sources(), shape.width()});
  const float* d = Dense<float>(destination, "destination", {edges.num_rows(), shape.width()});
  const float* a = Dense<float>(attention, "attention", {shape.heads, shape.columns});
  const float* g = Dense<float>(gradient, "gradient", {edges.num_edges(), shape.heads});
  float* of_s = Dense<float>(of_source, "of_source", {edges.num_sources(), shape.width()});
  float* of_d = Dense<float>(of_destination, "of_destination", {edges.num_rows(), shape.width()});
  float* of_a = Dense<float>(of_attention, "of_attention", {shape.heads, shape.columns});
  Compute(threads, [&] {
    const auto width = static_cast<size_t>(shape.width());
    std::vector<float> by_chunk(static_cast<size_t>(kernels::NumChunks(edges.num_rows())) * width);
    kernels::DynamicScoreGradients(edges.view(), shape, negative_slope, s, d, a, g, of_s, of_d, by_chunk.data());
    std::vector<double> sums(width, 0.0);
    for (size_t i = 0; i < by_chunk.size(); ++i) sums[i % width] += by_chunk[i];
    for (size_t j = 0; j < width; ++j) of_a[j] = static_cast<float>(sums[j]);
  });
}

void Dots(const Edges& edges, int64_t heads, const Input& source, const Input& destination, const Output& dots,
          int threads) {
  const HeadShape shape = Heads(heads, Columns(source, "source"), "source");
  const float* s = Dense<float>(source, "source", {edges.num_sources(), shape.width()});
  const float* d = Dense<float>(destination, "destination", {edges.num_rows(), shape.width()});
  float* out = Dense<float>(dots, "dots", {edges.num_edges(), heads});
  Compute(threads, [&] { kernels::EdgeDots(edges.segments(), shape, s, d, out); });
}

void Softmax(const Edges& edges, const Input& scores, const Output& weights, int threads) {
  const int64_t heads = Columns(scores, "scores");
  const float* from = Dense<float>(scores, "scores", {edges.num_edges(), heads});
  float* out = Dense<float>(weights, "weights", {edges.num_edges(), heads});
  Compute(threads, [&] { kernels::SoftmaxOverSegments(edges.segments(), heads, from, out); });
}

void SoftmaxGradient(const Edges& edges, const Input& weights, const Input& gradient, const Output& of_scores,
                     int threads) {
  const int64_t heads = Columns(weights, "weights");
  const float* w = Dense<float>(weights, "weights", {edges.num_edges(), heads});
  const float* g = Dense<float>(gradient, "gradient", {edges.num_edges(), heads});
  float* out = Dense<float>(of_scores, "of_scores", {edges.num_edges(), heads});
  Compute(threads, [&] { kernels::SoftmaxOverSegmentsGradient(edges.segments(), heads, w, g, out); });
}

void WeightedSum(const Edges& edges, const Input& weights, const Input& source, const Output& out, bool by_source,
                 int threads) {
  const HeadShape shape = Heads(Columns(weights, "weights"), Columns(source, "source"), "source");
  const int64_t num_read = by_source ? edges.num_rows() : edges.num_sources();
  const int64_t num_written = by_source ? edges.num_sources() : edges.num_rows();
  const float* w = Dense<float>(weights, "weights", {edges.num_edges(), shape.heads});
  const float* s = Dense<float>(source, "source", {num_read, shape.width()});
  float* to = Dense<float>(out, "out", {num_written, shape.width()});
  Compute(threads, [&] {
    if (!by_source) return kernels::WeightedSums(edges.segments(), {}, shape, w, s, to);
    const kernels::EdgeView view = edges.view();
    kernels::WeightedSums(view.by_source, view.positions, shape, w, s, to);
  });
}

void CheckProbability(double probability) {
  if (!(probability >= 0 && probability < 1)) {
    Refuse("dropout", "must be from 0 to below 1, not " + std::to_string(probability));
  }
}

void EdgeDropoutFactors(const Edges& edges, double probability, uint64_t key, const Input& source_ids,
                        const Input& destination_ids, const Output& factors, int threads) {
  CheckProbability(probability);
  const int64_t heads = Columns(factors, "factors");
  const kernels::EdgeMasks masks{probability, key, Dense<int64_t>(source_ids, "source_ids", {edges.num_sources()}),
                                 Dense<int64_t>(destination_ids, "destination_ids", {edges.num_rows()})};
  float* out = Dense<float>(factors, "factors", {edges.num_edges(), heads});
  Compute(threads, [&] { kernels::EdgeDropoutFactors(edges.segments(), heads, masks, out); });
}

// (key, original ids) for each node type. A matrix has the rows of the first type, then those of the next, and so on.
using TypeMasks = std::vector<std::tuple<uint64_t, Input>>;

std::vector<kernels::MaskRange> MaskRanges(const TypeMasks& masks, double probability, int64_t num_rows) {
  CheckProbability(probability);
  std::vector<kernels::MaskRange> ranges;
  int64_t begin = 0;
  for (const auto& [key, ids] : masks) {
    if (ids.ndim() != 1) Refuse("original ids", "must be one-dimensional, not of shape " + ShapeText(ids));
    const auto count = static_cast<int64_t>(ids.shape(0));
    ranges.push_back({begin, begin + count, key, Dense<int64_t>(ids, "original ids", {count})});
    begin += count;
  }
  if (begin != num_rows && probability > 0) {
    Refuse("masks", "have " + std::to_string(begin) + " original ids for " + std::to_string(num_rows) + " rows");
  }
  return ranges;
}

void BiasReluDropout(const Output& x, const OptionalInput& bias, double probability, const TypeMasks& masks,
                     const Output& passes, int threads) {
  const int64_t width = Columns(x, "x"), num_rows = static_cast<int64_t>(x.shape(0));
  const std::vector<kernels::MaskRange> ranges = MaskRanges(masks, probability, num_rows);
  float* rows = Dense<float>(x, "x", {num_rows, width});
  const float* added = DenseOrNull<float>(bias, "bias", {width});
  uint8_t* to = Dense<uint8_t>(passes, "passes", {num_rows, width});
  Compute(threads, [&] {
    const std::vector<float> zeros(added == nullptr ? static_cast<size_t>(width) : 0, 0.0f);
    kernels::BiasReluDropoutRows({probability, ranges}, num_rows, width, added == nullptr ? zeros.data() : added, rows,
                                 to);
  });
}

void BiasReluDropoutGradient(const Input& gradient, const Input& passes, double probability, const Output& of_x,
                             const OptionalOutput& of_bias, int threads) {
  CheckProbability(probability);
  const int64_t width = Columns(gradient, "gradient"), num_rows = static_cast<int64_t>(gradient.shape(0));
  const float* g = Dense<float>(gradient, "gradient", {num_rows, width});
  const uint8_t* pass = Dense<uint8_t>(passes, "passes", {num_rows, width});
  float* out = Dense<float>(of_x, "of_x", {num_rows, width});
  float* sums = of_bias ? Dense<float>(*of_bias, "of_bias", {width}) : nullptr;
  Compute(threads, [&] {
    const auto size = static_cast<size_t>(width);
    std::vector<float> by_chunk(sums == nullptr ? 0 : static_cast<size_t>(kernels::NumChunks(num_rows)) * size);
    kernels::BiasReluDropoutGradient(kernels::DropoutScale(probability), num_rows, width, g, pass, out,
                                     sums == nullptr ? nullptr : by_chunk.data());
    if (sums == nullptr) return;
    std::vector<double> totals(size, 0.0);
    for (size_t i = 0; i < by_chunk.size(); ++i) totals[i % size] += by_chunk[i];
    for (size_t j = 0; j < size; ++j) sums[j] = static_cast<float>(totals[j]);
  });
}

void DropoutFactors(double probability, const TypeMasks& masks, const Output& factors, int threads) {
  const int64_t width = Columns(factors, "factors"), num_rows = static_cast<int64_t>(factors.shape(0));
  const std::vector<kernels::MaskRange> ranges = MaskRanges(masks, probability, num_rows);
  float* out = Dense<float>(factors, "factors", {num_rows, width});
  Compute(threads, [&] { kernels::DropoutFactors({probability, ranges}, num_rows, width, out); });
}

// For large tensors that do not come from the pool in buffers.cc. By default glibc maps and unmaps each of them, which
// costs page faults in every step. In the heap, the memory stays mapped for the next step.
void KeepMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
}

}  // namespace

void BindKernels(nb::module_& m) {
  nb::class_<Edges>(m, "Edges")
      .def(nb::init<const Input&, const Input&, int64_t, bool>(), "indptr"_a, "indices"_a, "num_sources"_a,
           "self_edges"_a = false)
      .def_prop_ro("num_rows", &Edges::num_rows)
      .def_prop_ro("num_sources", &Edges::num_sources)
      .def_prop_ro("num_edges", &Edges::num_edges)
      .def("sum", &Sum, "source"_a, "out"_a, nb::kw_only(), "source_scale"_a.none() = nb::none(),
           "initial"_a.none() = nb::none(), "initial_scale"_a.none() = nb::none(), "result_scale"_a.none() = nb::none(),
           "by_source"_a = false, "threads"_a = 1)
      .def("max", &Max, "source"_a, "out"_a, "winners"_a, nb::kw_only(), "threads"_a = 1)
      .def("max_gradient", &MaxGradient, "gradient"_a, "winners"_a, "of_source"_a, nb::kw_only(), "threads"_a = 1)
      .def("additive_scores", &AdditiveScores, "source"_a, "destination"_a, "negative_slope"_a, "scores"_a,
           nb::kw_only(), "threads"_a = 1)
      .def("additive_score_gradients", &AdditiveScoreGradients, "source"_a, "destination"_a, "negative_slope"_a,
           "gradient"_a, "of_source"_a, "of_destination"_a, nb::kw_only(), "threads"_a = 1)
      .def("dynamic_scores", &DynamicScores, "source"_a, "destination"_a, "attention"_a, "negative_slope"_a, "scores"_a,
           nb::kw_only(), "threads"_a = 1)
      .def("dynamic_score_gradients", &DynamicScoreGradients, "source"_a, "destination"_a, "attention"_a,
           "negative_slope"_a, "gradient"_a, "of_source"_a, "of_destination"_a, "of_attention"_a, nb::kw_only(),
           "threads"_a = 1)
      .def("dots", &Dots, "heads"_a, "source"_a, "destination"_a, "dots"_a, nb::kw_only(), "threads"_a = 1)
      .def("softmax", &Softmax, "scores"_a, "weights"_a, nb::kw_only(), "threads"_a = 1)
      .def("softmax_gradient", &SoftmaxGradient, "weights"_a, "gradient"_a, "of_scores"_a, nb::kw_only(),
           "threads"_a = 1)
      .def("weighted_sum", &WeightedSum, "weights"_a, "source"_a, "out"_a, nb::kw_only(), "by_source"_a = false,
           "threads"_a = 1)
      .def("dropout_factors", &EdgeDropoutFactors, "probability"_a, "key"_a, "source_ids"_a, "destination_ids"_a,
           "factors"_a, nb::kw_only(), "threads"_a = 1);
  m.def("bias_relu_dropout", &BiasReluDropout, "x"_a, "bias"_a.none(), "probability"_a, "masks"_a, "passes"_a,
        nb::kw_only(), "threads"_a = 1);
  m.def("bias_relu_dropout_gradient", &BiasReluDropoutGradient, "gradient"_a, "passes"_a, "probability"_a, "of_x"_a,
        "of_bias"_a.none(), nb::kw_only(), "threads"_a = 1);
  m.def("dropout_factors", &DropoutFactors, "probability"_a, "masks"_a, "factors"_a, nb::kw_only(), "threads"_a = 1);
  m.def("keep_memory", &KeepMemory);
  m.def("dropout_key", [](uint64_t seed, uint32_t epoch, uint32_t step, uint32_t layer, uint32_t node_type) {
    return RandomKey(seed, RandomPurpose::kDropout, epoch, step, layer, node_type);
  });
  m.def("input_dropout_key", [](uint64_t seed, uint32_t epoch, uint32_t step, uint32_t node_type) {
    return RandomKey(seed, RandomPurpose::kInputDropout, epoch, step, node_type);
  });
  m.def("attention_dropout_key", [](uint64_t seed, uint32_t epoch, uint32_t step, uint32_t layer, uint32_t relation) {
    return RandomKey(seed, RandomPurpose::kAttentionDropout, epoch, step, layer, relation);
  });
}

}  // namespace espalier::python
