// Dense row-major arrays in host memory: the representation of features, labels and ID columns in readers, files, RPCs
// and trainers. Bytes are little-endian.
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

// A dense array with shared bytes: copying a Tensor adds a reference. The bytes must not change once the tensor is
// shared. They lie in memory that was allocated for the tensor, in a mapped file or in a message, which exists as long
// as a Tensor refers to it.
// Thread-compatible; concurrent reads are safe.
class Tensor {
 public:
  Tensor() = default;

  // Returns a tensor with zero-filled memory of its own. The size in bytes must be at most 2^62 (checked). Throws
  // std::bad_alloc, whose message has the size, if there is not enough memory.
  static Tensor Zeros(DType dtype, std::vector<int64_t> shape);
  // Like Zeros, but with uninitialized bytes, for callers that write all of them.
  static Tensor Uninitialized(DType dtype, std::vector<int64_t> shape);

  // Returns a tensor over the bytes at `data`, which `owner` keeps alive. `data` must hold all bytes of the shape and
  // be aligned to the element size.
  static Tensor Wrap(DType dtype, std::vector<int64_t> shape, const void* data, std::shared_ptr<const void> owner);

  // Returns a tensor that owns `values`. The product of `shape` must be values.size() (checked). Not for bool, because
  // vector<bool> is packed.
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
  // Returns the length of the first dimension; 1 for a scalar.
  int64_t num_rows() const { return shape_.empty() ? 1 : shape_[0]; }
  // Returns the number of bytes of one row, that is, of all dimensions except the first.
  size_t row_bytes() const;
  size_t size_bytes() const { return static_cast<size_t>(num_elements()) * ItemSize(dtype_); }
  bool empty() const { return num_elements() == 0; }

  const std::byte* bytes() const { return data_; }
  std::span<const std::byte> byte_span() const { return {data_, size_bytes()}; }
  // Returns the bytes for writing. Only for a tensor made by Zeros or Uninitialized (checked) that is not shared yet.
  std::byte* mutable_bytes();

  // Returns the elements as T, which must be the dtype's C++ type (checked).
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

  // Return element i (row-major) of a tensor of any dtype as a double, or as an integer, truncated. Slow: for readers
  // and tests, not for loops over edges.
  double ValueAsDouble(int64_t i) const;
  int64_t ValueAsInt(int64_t i) const;

  // Returns the dtype and shape, such as "F32 [2708, 1433]".
  std::string ToString() const;

 private:
  // Returns a tensor over malloc'ed `memory`, which is freed with the last reference.
  static Tensor Own(void* memory, DType dtype, std::vector<int64_t> shape);

  DType dtype_ = DType::kF32;
  std::vector<int64_t> shape_ = {0};
  const std::byte* data_ = nullptr;
  std::byte* writable_ = nullptr;  // data_ if Zeros or Uninitialized made the tensor, else null
  std::shared_ptr<const void> owner_;
};

// Returns the number of elements of a shape that comes from a file or a message. InvalidArgument: a
// dimension is negative. OutOfRange: the size in bytes exceeds 2^62.
Result<int64_t> CheckedElementCount(std::span<const int64_t> shape, size_t element_bytes);

}  // namespace espalier
