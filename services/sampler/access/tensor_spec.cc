// Specifications may come from another process. CheckSpec checks the dtype, the number of dimensions and the number of
// elements of a row before it calls RowBytes, because RowElements and RowBytes do not detect an overflow.
#include "services/sampler/access/tensor_spec.h"

#include <algorithm>
#include <cmath>

#include "services/base/tensor.h"
#include "services/sampler/access/owner_route.h"

namespace espalier::sampler {
namespace {

// Returns InvalidArgument if `dtype` is not a floating-point type and does not have this value. For 64-bit integers,
// constants below -2^53 and from 2^53 on are refused too, because a double does not represent all of them.
// Floating-point types round any constant.
Status CheckConstant(double value, DType dtype) {
  if (IsFloating(dtype)) return Status();
  const bool is_signed = ReducedDType(Reduction::kSum, dtype) == DType::kI64;
  const int bits = dtype == DType::kBool ? 1 : static_cast<int>(8 * ItemSize(dtype)) - (is_signed ? 1 : 0);
  const double end = std::ldexp(1.0, std::min(bits, 53));
  if (value == std::trunc(value) && value < end && value >= (is_signed ? -end : 0.0)) return Status();
  return InvalidArgument("the constant " + std::to_string(value) + " is not a value of " + ToString(dtype) +
                         (bits > 53 ? std::string(is_signed ? " from -2^53" : " from 0") + " to below 2^53" : ""));
}

// Checks the name, "plugin/name", and that the arguments fit into one message.
Status CheckPluginInitializer(const Initializer& initializer) {
  const size_t slash = initializer.plugin.find('/');
  if (slash == std::string::npos) {
    return InvalidArgument("initializer '" + initializer.plugin.substr(0, 260) +
                           "': expected PLUGIN/NAME, as in rows/sinusoids");
  }
  RETURN_IF_ERROR(graph::CheckName("plugin", initializer.plugin.substr(0, slash)));
  RETURN_IF_ERROR(graph::CheckName("initializer", initializer.plugin.substr(slash + 1)));
  if (initializer.arguments.size() <= TensorLimits::kMaxArgumentBytes) return Status();
  return ResourceExhausted("an initializer's arguments have " + std::to_string(initializer.arguments.size()) +
                           " bytes, the limit is " + std::to_string(TensorLimits::kMaxArgumentBytes));
}

Status CheckInitializer(const TensorSpec& spec) {
  const Initializer& initializer = spec.initializer;
  const auto check_finite = [](double number, const char* what) {
    return std::isfinite(number) ? Status()
                                 : InvalidArgument(std::string("an initializer's ") + what + " is not finite");
  };
  switch (initializer.kind) {
    case Initializer::Kind::kZeros: return Status();
    case Initializer::Kind::kConstant: return CheckConstant(initializer.value, spec.dtype);
    case Initializer::Kind::kUniform:
      RETURN_IF_ERROR(check_finite(initializer.low, "low end"));
      RETURN_IF_ERROR(check_finite(initializer.high, "high end"));
      if (initializer.low > initializer.high) return InvalidArgument("an initializer's low end is above its high end");
      break;
    case Initializer::Kind::kNormal:
      RETURN_IF_ERROR(check_finite(initializer.mean, "mean"));
      RETURN_IF_ERROR(check_finite(initializer.stddev, "standard deviation"));
      if (initializer.stddev < 0) return InvalidArgument("an initializer's standard deviation is negative");
      break;
    case Initializer::Kind::kXavierUniform:
      RETURN_IF_ERROR(check_finite(initializer.gain, "gain"));
      if (spec.row_shape.empty()) return InvalidArgument("Xavier's initializer needs rows of at least one dimension");
      break;
    case Initializer::Kind::kPlugin: return CheckPluginInitializer(initializer);
  }
  if (IsFloating(spec.dtype)) return Status();
  return InvalidArgument(std::string("random initializers are for floating tensors, not for ") + ToString(spec.dtype));
}

}  // namespace

Status CheckRowSpace(const RowSpace& rows, const graph::PartitionBook& book) {
  const graph::GraphSchema& schema = book.schema();
  switch (rows.of) {
    case RowsOf::kNodes: return schema.CheckNodeType(NodeTypeId(rows.type));
    case RowsOf::kEdges: return schema.CheckEdgeType(EdgeTypeId(rows.type));
    case RowsOf::kOwn:
      if (rows.num_own_rows <= TensorLimits::kMaxOwnRows) return Status();
      return ResourceExhausted("a tensor of " + std::to_string(rows.num_own_rows) + " rows, the limit is " +
                               std::to_string(TensorLimits::kMaxOwnRows));
  }
  return InvalidArgument("rows of kind " + std::to_string(static_cast<int>(rows.of)) + " do not exist");
}

std::vector<uint64_t> FirstRows(const RowSpace& rows, const graph::PartitionBook& book) {
  const auto copy = [](std::span<const uint64_t> first) { return std::vector<uint64_t>(first.begin(), first.end()); };
  switch (rows.of) {
    case RowsOf::kNodes: return copy(book.NodeFirst(NodeTypeId(rows.type)));
    case RowsOf::kEdges: return copy(book.EdgeFirst(EdgeTypeId(rows.type)));
    case RowsOf::kOwn: break;
  }
  return EqualRanges(rows.num_own_rows, book.num_partitions());
}

std::string RowsName(const RowSpace& rows, const graph::PartitionBook& book) {
  switch (rows.of) {
    case RowsOf::kNodes: return "nodes/" + book.schema().NodeTypeName(NodeTypeId(rows.type));
    case RowsOf::kEdges: return "edges/" + book.schema().EdgeType(EdgeTypeId(rows.type)).Name();
    case RowsOf::kOwn: break;
  }
  return "own";
}

std::string ToString(const RowSpace& rows, const graph::PartitionBook& book) {
  switch (rows.of) {
    case RowsOf::kNodes: return "node type '" + book.schema().NodeTypeName(NodeTypeId(rows.type)) + "'";
    case RowsOf::kEdges: return "edge type '" + book.schema().EdgeType(EdgeTypeId(rows.type)).Name() + "'";
    case RowsOf::kOwn: break;
  }
  return "own rows";
}

Status CheckSpec(const TensorSpec& spec) {
  RETURN_IF_ERROR(graph::CheckName("tensor", spec.id.name));
  if (!spec.id.job.empty()) RETURN_IF_ERROR(graph::CheckName("job", spec.id.job));
  const std::string& stream = spec.initializer.stream;
  if (!stream.empty()) RETURN_IF_ERROR(graph::CheckName("stream of random values", stream));
  if (!IsValidDType(static_cast<uint8_t>(spec.dtype))) {
    return InvalidArgument("dtype number " + std::to_string(static_cast<int>(spec.dtype)) + " does not exist");
  }
  if (spec.row_shape.size() > TensorLimits::kMaxDimensions) {
    return ResourceExhausted("rows of " + std::to_string(spec.row_shape.size()) + " dimensions, the limit is " +
                             std::to_string(TensorLimits::kMaxDimensions));
  }
  if (const auto count = CheckedElementCount(spec.row_shape, ItemSize(spec.dtype)); !count.ok()) {
    return InvalidArgument("tensor '" + spec.id.name + "': " + count.status().message());
  }
  if (const uint64_t bytes = RowBytes(spec.dtype, spec.row_shape); bytes > TensorLimits::kMaxRowBytes) {
    return ResourceExhausted("rows of " + std::to_string(bytes) + " bytes, the limit is " +
                             std::to_string(TensorLimits::kMaxRowBytes));
  }
  return CheckInitializer(spec).While("tensor '" + spec.id.name + "'");
}

uint64_t RowElements(const std::vector<int64_t>& row_shape) {
  uint64_t elements = 1;
  for (const int64_t dimension : row_shape) elements *= static_cast<uint64_t>(dimension);
  return elements;
}

uint64_t RowBytes(DType dtype, const std::vector<int64_t>& row_shape) {
  return ItemSize(dtype) * RowElements(row_shape);
}

const char* ToString(RowWrite write) {
  switch (write) {
    case RowWrite::kAssign: return "assign";
    case RowWrite::kAdd: return "add";
    case RowWrite::kMin: return "min";
    case RowWrite::kMax: return "max";
    case RowWrite::kOr: return "or";
  }
  return "unknown";
}

Status CheckWrite(RowWrite write, DType dtype) {
  if (static_cast<uint8_t>(write) > static_cast<uint8_t>(RowWrite::kOr)) {
    return InvalidArgument("there is no write of kind " + std::to_string(static_cast<int>(write)));
  }
  if (write != RowWrite::kOr || !IsFloating(dtype)) return Status();
  return InvalidArgument(std::string("'or' is for Bool and integers, not for ") + ToString(dtype));
}

DType ReducedDType(Reduction reduction, DType dtype) {
  if (reduction == Reduction::kCountNonzero) return DType::kU64;
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64: return DType::kU64;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64: return DType::kI64;
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64: break;
  }
  return DType::kF64;
}

}  // namespace espalier::sampler
