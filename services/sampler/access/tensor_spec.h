// The specification of a mutable tensor: its name, rows, element type and first values, and the operations on its rows.
// partition_tensors.h and partitioned_tensors.h have the functions that create tensors and access their rows.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "services/base/dtype.h"
#include "services/base/status.h"
#include "services/graph/partition_book.h"
#include "services/sampler/access/row_ids.h"

namespace espalier::sampler {

// What the rows of a tensor belong to, which determines where they are stored. The numbers are on the wire.
enum class RowsOf : uint8_t {
  kNodes = 0,  // one row per node of a type, on the node's owner
  kEdges = 1,  // one row per edge of a type, on the owner of its destination
  kOwn = 2,    // own rows: n rows that belong to no node or edge; partition p of P holds [n p / P, n (p + 1) / P)
};

struct RowSpace {
  RowsOf of = RowsOf::kNodes;
  uint16_t type = 0;          // NodeTypeId or EdgeTypeId; 0 for kOwn
  uint64_t num_own_rows = 0;  // for kOwn, in all partitions; otherwise 0

  static RowSpace Nodes(NodeTypeId type) { return {RowsOf::kNodes, type.value, 0}; }
  static RowSpace Edges(EdgeTypeId type) { return {RowsOf::kEdges, type.value, 0}; }
  // Own rows (RowsOf::kOwn). In a TensorId, 0 matches any number of rows.
  static RowSpace Own(uint64_t num_rows = 0) { return {RowsOf::kOwn, 0, num_rows}; }
  friend auto operator<=>(const RowSpace&, const RowSpace&) = default;
};

// Returns InvalidArgument for a type that does not exist, and ResourceExhausted for more than kMaxOwnRows own rows.
Status CheckRowSpace(const RowSpace& rows, const graph::PartitionBook& book);
// Returns `first`, [num_partitions + 1]: partition p holds global rows [first[p], first[p + 1]). Here and below, `rows`
// has passed CheckRowSpace.
std::vector<uint64_t> FirstRows(const RowSpace& rows, const graph::PartitionBook& book);
// Returns "nodes/paper", "edges/author:writes:paper" or "own". Random initial values depend on this name (Initializer).
std::string RowsName(const RowSpace& rows, const graph::PartitionBook& book);
// Returns, for messages: "node type 'paper'", "edge type 'author:writes:paper'" or "own rows".
std::string ToString(const RowSpace& rows, const graph::PartitionBook& book);

// Identifies a tensor. Tensors of different row spaces may have the same name, but tensors of own rows must have
// different names even if their numbers of rows differ.
struct TensorId {
  RowSpace rows;
  std::string name;  // valid for graph::CheckName
  // The job that owns the tensor. Tensors of different jobs on the same servers may have the same name. Empty in a
  // process that holds its partitions itself, and for the job without a name.
  std::string job;
  // The incarnation of the calling job; tensors of the job's other incarnations cannot be accessed. 0 in a process that
  // holds its partitions itself; with servers, the connection sets it.
  uint64_t incarnation = 0;
  // The creation number (TensorDescription), which changes if the tensor is dropped and created again. 0: any tensor
  // with the name.
  uint64_t creation = 0;
  friend auto operator<=>(const TensorId&, const TensorId&) = default;
};

// Initial values of a tensor's elements, computed where the rows are stored. Random values are a pure function of
// (seed, row space, stream, original id, element), where `element` is the element's index in its row, so they are the
// same for any partitioning. They come from Philox4x32 with key
// RandomKey(seed, kTensorRows, HashCombine(Hash64(RowsName), Hash64(stream))) and counter (element / 4, original id).
// The original id of an own row is its global row id. Random values need a floating-point dtype, to which they are
// rounded at the end. A plugin derives its values from the same inputs.
struct Initializer {
  enum class Kind : uint8_t { kZeros = 0, kConstant = 1, kUniform = 2, kNormal = 3, kXavierUniform = 4, kPlugin = 5 };
  Kind kind = Kind::kZeros;
  double value = 0;          // kConstant
  double low = 0, high = 1;  // kUniform: [low, high), before rounding to the dtype
  double mean = 0;           // kNormal (Box and Muller 1958; libm's logarithm, cosine and sine)
  double stddev = 1;
  // kXavierUniform (Glorot and Bengio 2010): like kUniform with [-b, b), b = gain sqrt(6 / (fan_in + fan_out)). Fans
  // as in torch.nn.init.xavier_uniform_, computed from the shape of the tensor over all partitions.
  double gain = 1;
  // kPlugin: an initializer, as "plugin/name", for any dtype. The graph servers that own the rows have loaded the
  // plugin, which defines the meaning of arguments, seed and stream (services/plugin/espalier_plugin.h).
  std::string plugin = {};
  std::string arguments = {};  // bytes
  uint64_t seed = 0;
  std::string stream = {};  // empty: the tensor's name

  friend bool operator==(const Initializer&, const Initializer&) = default;
  static Initializer Zeros() { return {}; }
  static Initializer Constant(double value) { return {.kind = Kind::kConstant, .value = value}; }
  static Initializer Uniform(double low, double high, uint64_t seed) {
    return {.kind = Kind::kUniform, .low = low, .high = high, .seed = seed};
  }
  static Initializer Normal(double mean, double stddev, uint64_t seed) {
    return {.kind = Kind::kNormal, .mean = mean, .stddev = stddev, .seed = seed};
  }
  static Initializer XavierUniform(double gain, uint64_t seed) {
    return {.kind = Kind::kXavierUniform, .gain = gain, .seed = seed};
  }
  static Initializer Plugin(std::string name, std::string arguments = {}, uint64_t seed = 0) {
    return {.kind = Kind::kPlugin, .plugin = std::move(name), .arguments = std::move(arguments), .seed = seed};
  }
};

struct TensorSpec {
  TensorId id;
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;  // without the first dimension; empty: one value per row
  Initializer initializer;
  uint64_t maker = 0;  // identifies the call that creates the tensor, not 0; set by PartitionedTensors::Create
};

// Limits of one partition's tensors; ShardLimits limits their bytes.
struct TensorLimits {
  static constexpr size_t kMaxTensors = 65'536;                       // of one partition, all jobs
  static constexpr size_t kMaxDimensions = 8;                         // of a row
  static constexpr uint64_t kMaxRowBytes = uint64_t{16} << 20;        // a row is sent in one message
  static constexpr uint64_t kMaxRowsPerPartition = 0xffff'ffffu;      // local row ids have 32 bits
  static constexpr uint64_t kMaxOwnRows = uint64_t{1} << 48;          // in all partitions
  static constexpr uint64_t kMaxReducedElements = uint64_t{1} << 16;  // elements of a row in a reduction
  static constexpr size_t kMaxArgumentBytes = size_t{1} << 20;        // of a plugin's initializer
};

// Checks a specification independently of the graph: names, dtype, shape, initializer. Returns InvalidArgument, or
// ResourceExhausted if it exceeds TensorLimits.
Status CheckSpec(const TensorSpec& spec);

// Return the number of elements of one row, and its size in bytes. The shape has been checked.
uint64_t RowElements(const std::vector<int64_t>& row_shape);
uint64_t RowBytes(DType dtype, const std::vector<int64_t>& row_shape);

// How a write combines the caller's rows with the rows of a tensor. The numbers are on the wire.
//
// Integers wrap around; the minimum or maximum of a NaN and any number is NaN; for F16 and BF16 the result of each
// operation is rounded. For Bool, kAdd and kMax are "or" and kMin is "and". kOr is bitwise, for Bool and integers.
enum class RowWrite : uint8_t { kAssign = 0, kAdd = 1, kMin = 2, kMax = 3, kOr = 4 };
const char* ToString(RowWrite write);  // "assign", "add", "min", "max", "or"
// Returns InvalidArgument if the dtype has no such operation.
Status CheckWrite(RowWrite write, DType dtype);

// A reduction over all rows of a tensor, separately for each element of a row. The numbers are on the wire.
enum class Reduction : uint8_t { kCountNonzero = 1, kSum = 2, kMin = 3, kMax = 4 };
// Returns the dtype of a reduction's result: F64 for floating-point dtypes, I64 for signed integers, and U64 for
// unsigned integers, for Bool and for counts.
DType ReducedDType(Reduction reduction, DType dtype);

}  // namespace espalier::sampler
