// Dense row-major arrays in host memory: the one shape in which features, labels and id columns travel
// between readers, files, RPCs and trainers. Bytes are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/base/dtype.h"
#include "services/base/status.h"

namespace espalier {

// A dense array with shared, immutable-after-publication bytes: a copy is a second reference. The bytes may be
// owned memory, a mapped file, or a slice of a message: `owner` keeps whatever it is alive.
// Thread-compatible; concurrent reads are safe.
class Tensor {
 public:
  Tensor() = default;

  // Zero-filled owned memory. The product of `shape` times the element size must not overflow (checked). Throws
  // std::bad_alloc, with the size, where there is no room.
  static Tensor Zeros(DType dtype, std::vector<int64_t> shape);
  // The same with bytes of any value, for who writes them all.
  static Tensor Uninitialized(DType dtype, std::vector<int64_t> shape);

  // Bytes that `owner` keeps alive. data must hold the shape's bytes and be aligned to the element size.
  static Tensor Wrap(DType dtype, std::vector<int64_t> shape, const void* data, std::shared_ptr<const void> owner);

  // Takes over the vector; shape must have values.size() elements. (Not for bool: vector<bool> is packed.)
  template <class T>
  static Tensor FromVector(std::vector<T> values, std::vector<int64_t> shape) {
    auto owner = std::make_shared<std::vector<T>>(std::move(values));
    const void* data = owner->data();
    const size_t count = owner->size();
    Tensor tensor = Wrap(DTypeOf<T>::value, std::move(shape), data, std::move(owner));
    ESPALIER_CHECK(static_cast<size_t>(tensor.num_elements()) == count) << "shape does not fit the values";
    return tensor;
  }
  template <class T>
  static Tensor FromVector(std::vector<T> values) {
    const auto count = static_cast<int64_t>(values.size());
    return FromVector(std::move(values), {count});
  }

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t num_elements() const;
  // Length of the first dimension; 1 for a scalar.
  int64_t num_rows() const { return shape_.empty() ? 1 : shape_[0]; }
  // Bytes of one row: of all dimensions but the first.
  size_t row_bytes() const;
  size_t size_bytes() const { return static_cast<size_t>(num_elements()) * ItemSize(dtype_); }
  bool empty() const { return num_elements() == 0; }

  const std::byte* bytes() const { return data_; }
  std::span<const std::byte> byte_span() const { return {data_, size_bytes()}; }
  // Writable bytes: only of a tensor made by Zeros or Uninitialized that nobody else has seen yet.
  std::byte* mutable_bytes();

  // The elements as T; T must be the dtype's type (checked).
  template <class T>
  std::span<const T> values() const {
    ESPALIER_CHECK(dtype_ == DTypeOf<T>::value) << "tensor holds " << espalier::ToString(dtype_);
    return {reinterpret_cast<const T*>(data_), static_cast<size_t>(num_elements())};
  }
  template <class T>
  std::span<T> mutable_values() {
    ESPALIER_CHECK(dtype_ == DTypeOf<T>::value) << "tensor holds " << espalier::ToString(dtype_);
    return {reinterpret_cast<T*>(mutable_bytes()), static_cast<size_t>(num_elements())};
  }

  // Element i as a double or an integer, whatever the dtype: for readers and tests, not for loops over edges.
  double ValueAsDouble(int64_t i) const;
  int64_t ValueAsInt(int64_t i) const;

  // "F32 [2708, 1433]"
  std::string ToString() const;

 private:
  // `memory` is freed with the last reference.
  static Tensor Own(void* memory, DType dtype, std::vector<int64_t> shape);

  DType dtype_ = DType::kF32;
  std::vector<int64_t> shape_ = {0};
  const std::byte* data_ = nullptr;
  std::byte* writable_ = nullptr;  // data_ when made by Zeros or Uninitialized
  std::shared_ptr<const void> owner_;
};

// The number of elements of a shape, or an error where a dimension is negative or the product times
// `element_bytes` passes 2^62: for shapes that come from files and messages.
Result<int64_t> CheckedElementCount(std::span<const int64_t> shape, size_t element_bytes);

}  // namespace espalier
