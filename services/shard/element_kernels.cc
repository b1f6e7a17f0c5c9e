// Each kind of dtype has a struct (Integers, Booleans, Floats, ShortFloats) with its operations, and VisitElements
// calls a kernel with the struct of a dtype. The result of a reduction does not depend on the order of rows, except for
// the bits of a NaN: integers wrap around, floating-point sums are exact (ExactSum), and minimum and maximum order the
// two zeros by sign.
#include "services/shard/element_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "services/base/exact_sum.h"

namespace espalier::shard {
namespace {

using sampler::Reduction;
using sampler::RowWrite;

// An element type: its storage type and the type of its arithmetic.
template <class T>
struct Integers {
  using Stored = T;
  using Value = T;
  static Value Load(Stored stored) { return stored; }
  static Stored Store(Value value) { return value; }
  // Unsigned arithmetic, for which wrapping around is defined; two's complement gives the same bits for signed numbers.
  static Value Add(Value a, Value b) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  }
  static Value Or(Value a, Value b) { return static_cast<T>(a | b); }
};

struct Booleans {  // any byte other than 0 is true
  using Stored = uint8_t;
  using Value = uint8_t;
  static Value Load(Stored stored) { return stored != 0; }
  static Stored Store(Value value) { return value; }
  static Value Or(Value a, Value b) { return static_cast<Value>(a | b); }
  static Value Add(Value a, Value b) { return Or(a, b); }
};

template <class T>
struct Floats {
  using Stored = T;
  using Value = T;
  static Value Load(Stored stored) { return stored; }
  static Stored Store(Value value) { return value; }
  static Value Add(Value a, Value b) { return a + b; }
};

template <float (*ToFloat)(uint16_t), uint16_t (*FromFloat)(float)>
struct ShortFloats {
  using Stored = uint16_t;
  using Value = float;
  static Value Load(Stored stored) { return ToFloat(stored); }
  static Stored Store(Value value) { return FromFloat(value); }
  static Value Add(Value a, Value b) { return a + b; }
};

template <class Visitor>
auto VisitElements(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kBool: return visit(Booleans{});
    case DType::kU8: return visit(Integers<uint8_t>{});
    case DType::kI8: return visit(Integers<int8_t>{});
    case DType::kI16: return visit(Integers<int16_t>{});
    case DType::kU16: return visit(Integers<uint16_t>{});
    case DType::kI32: return visit(Integers<int32_t>{});
    case DType::kU32: return visit(Integers<uint32_t>{});
    case DType::kI64: return visit(Integers<int64_t>{});
    case DType::kU64: return visit(Integers<uint64_t>{});
    case DType::kF16: return visit(ShortFloats<HalfToFloat, FloatToHalf>{});
    case DType::kBF16: return visit(ShortFloats<BFloat16ToFloat, FloatToBFloat16>{});
    case DType::kF32: return visit(Floats<float>{});
    case DType::kF64: return visit(Floats<double>{});
  }
  ESPALIER_CHECK(false) << "dtype " << static_cast<int>(dtype);
  return visit(Booleans{});
}

template <class Value>
bool IsNan(Value value) {
  if constexpr (std::is_floating_point_v<Value>) return std::isnan(value);
  return false;
}

// Returns whether the sign bit of a floating-point value is set, which orders -0 before +0; false for integers.
template <class Value>
bool IsNegative(Value value) {
  if constexpr (std::is_floating_point_v<Value>) return std::signbit(value);
  return false;
}

template <class Value>
Value Smaller(Value a, Value b) {
  if (IsNan(a) || IsNan(b)) return IsNan(a) ? a : b;
  if (a == b) return IsNegative(a) ? a : b;
  return b < a ? b : a;
}

template <class Value>
Value Larger(Value a, Value b) {
  if (IsNan(a) || IsNan(b)) return IsNan(a) ? a : b;
  if (a == b) return IsNegative(a) ? b : a;
  return a < b ? b : a;
}

template <class Elements, class Operation>
void ForEachElement(std::byte* into, const std::byte* from, uint64_t num_elements, Operation operation) {
  using Stored = typename Elements::Stored;
  auto* out = reinterpret_cast<Stored*>(into);
  const auto* in = reinterpret_cast<const Stored*>(from);
  for (uint64_t i = 0; i < num_elements; ++i) {
    out[i] = Elements::Store(operation(Elements::Load(out[i]), Elements::Load(in[i])));
  }
}

// The type of minima, maxima and integer sums: the widest type of the kind of `Value`.
template <class Value>
using Wide = std::conditional_t<std::is_floating_point_v<Value>, double,
                                std::conditional_t<std::is_signed_v<Value>, int64_t, uint64_t>>;

// Returns [row_elements] results: for each row in order, result i becomes step(result i, element i of the row). With
// `from_first_row`, the results begin as the first row; otherwise they begin as zeros.
template <class Elements, class Result, class Step>
Tensor FoldRows(const std::byte* rows, uint64_t num_rows, uint64_t row_elements, bool from_first_row, Step step) {
  const auto* in = reinterpret_cast<const typename Elements::Stored*>(rows);
  std::vector<Result> results(row_elements);
  for (uint64_t row = 0; row < num_rows; ++row) {
    for (uint64_t i = 0; i < row_elements; ++i) {
      const auto value = Elements::Load(in[row * row_elements + i]);
      results[i] = row == 0 && from_first_row ? static_cast<Result>(value) : step(results[i], value);
    }
  }
  return Tensor::FromVector(std::move(results));
}

template <class Elements>
Tensor SumRows(const std::byte* rows, uint64_t num_rows, uint64_t row_elements) {
  using Value = typename Elements::Value;
  if constexpr (std::is_floating_point_v<Value>) {
    const auto* in = reinterpret_cast<const typename Elements::Stored*>(rows);
    std::vector<ExactSum> sums(row_elements);
    for (uint64_t row = 0; row < num_rows; ++row) {
      for (uint64_t i = 0; i < row_elements; ++i) {
        sums[i].Add(static_cast<double>(Elements::Load(in[row * row_elements + i])));
      }
    }
    std::vector<int64_t> words;
    words.reserve(row_elements * ExactSum::kWords);
    for (const ExactSum& sum : sums) {
      const auto of_sum = sum.Words();
      words.insert(words.end(), of_sum.begin(), of_sum.end());
    }
    return Tensor::FromVector(std::move(words),
                              {static_cast<int64_t>(row_elements), static_cast<int64_t>(ExactSum::kWords)});
  } else {
    using Result = Wide<Value>;
    return FoldRows<Elements, Result>(
        rows, num_rows, row_elements, /*from_first_row=*/false, [](Result sum, Value value) {
          return static_cast<Result>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(Result{value}));
        });
  }
}

}  // namespace

void WriteElements(RowWrite write, DType dtype, std::byte* into, const std::byte* from, uint64_t num_elements) {
  if (write == RowWrite::kAssign) {
    std::memcpy(into, from, num_elements * ItemSize(dtype));
    return;
  }
  VisitElements(dtype, [&]<class Elements>(Elements) {
    using Value = typename Elements::Value;
    switch (write) {
      case RowWrite::kAssign: break;
      case RowWrite::kAdd: return ForEachElement<Elements>(into, from, num_elements, Elements::Add);
      case RowWrite::kMin: return ForEachElement<Elements>(into, from, num_elements, Smaller<Value>);
      case RowWrite::kMax: return ForEachElement<Elements>(into, from, num_elements, Larger<Value>);
      case RowWrite::kOr:
        if constexpr (!std::is_floating_point_v<Value>) {
          ForEachElement<Elements>(into, from, num_elements, Elements::Or);
        }
        break;
    }
  });
}

Tensor ReduceRows(Reduction reduction, DType dtype, const std::byte* rows, uint64_t num_rows, uint64_t row_elements) {
  return VisitElements(dtype, [&]<class Elements>(Elements) {
    using Value = typename Elements::Value;
    using Result = Wide<Value>;
    switch (reduction) {
      case Reduction::kCountNonzero:
        return FoldRows<Elements, uint64_t>(
            rows, num_rows, row_elements, /*from_first_row=*/false,
            [](uint64_t count, Value value) { return count + uint64_t{value != Value{0}}; });
      case Reduction::kSum: break;
      case Reduction::kMin:
        return FoldRows<Elements, Result>(
            rows, num_rows, row_elements, /*from_first_row=*/true,
            [](Result smallest, Value value) { return Smaller(smallest, static_cast<Result>(value)); });
      case Reduction::kMax:
        return FoldRows<Elements, Result>(
            rows, num_rows, row_elements, /*from_first_row=*/true,
            [](Result largest, Value value) { return Larger(largest, static_cast<Result>(value)); });
    }
    return SumRows<Elements>(rows, num_rows, row_elements);
  });
}

void StoreElement(DType dtype, double value, std::byte* into) {
  VisitElements(dtype, [&]<class Elements>(Elements) {
    const auto stored = Elements::Store(static_cast<typename Elements::Value>(value));
    std::memcpy(into, &stored, sizeof(stored));
  });
}

}  // namespace espalier::shard
