// Converts between NumPy arrays and the library's arrays. Ids are int64 in Python and uint64 in the library; row
// numbers within a mini-batch or subgraph are int32 in Python and uint32 in the library. Functions that throw
// InvalidArgument throw a StatusError (waits.h) with that code.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "services/base/tensor.h"
#include "services/graph/ids.h"

namespace espalier::python {

// The Python classes pass ids with this dtype, so no conversion is needed.
using IdArray = nanobind::ndarray<const int64_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
// A dense array of any dtype and shape.
using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;

// Throws InvalidArgument, with the id and its position, if an id is negative.
void CheckIds(const IdArray& ids);
// Returns a view of the array as ids of the library. Throws InvalidArgument as CheckIds does.
template <class Id>
std::span<const Id> SpanOf(const IdArray& ids) {
  CheckIds(ids);
  return {reinterpret_cast<const Id*>(ids.data()), ids.size()};
}
// Like SpanOf, but returns a copy.
template <class Id>
std::vector<Id> VectorOf(const IdArray& ids) {
  const std::span<const Id> span = SpanOf<Id>(ids);
  return {span.begin(), span.end()};
}

// Returns a writable copy as a NumPy array. BF16, which NumPy lacks, becomes float32.
nanobind::object ToNumpy(const Tensor& tensor);
// Returns a writable array that shares the tensor's bytes and keeps them alive; for BF16, a float32 copy. Only for a
// tensor whose memory has no other user, such as gathered rows of nodes and of DistTensors.
nanobind::object ShareWithNumpy(const Tensor& tensor);
// Returns a copy of the array's values. Throws InvalidArgument for an unsupported dtype.
Tensor FromNumpy(const AnyArray& array);

// Returns an array that is a view of the memory at `data`. The array keeps `owner`, which owns the memory, alive.
nanobind::object View(const void* data, std::vector<size_t> shape, nanobind::dlpack::dtype dtype,
                      nanobind::handle owner);
template <class Id>
nanobind::object IdView(const std::vector<Id>& ids, nanobind::handle owner) {
  static_assert(sizeof(Id) == sizeof(int64_t));
  return View(ids.data(), {ids.size()}, nanobind::dtype<int64_t>(), owner);
}
inline nanobind::object RowView(const std::vector<uint32_t>& rows, nanobind::handle owner) {
  return View(rows.data(), {rows.size()}, nanobind::dtype<int32_t>(), owner);
}
// Returns an array that owns the vector's values. Empty `shape`: one dimension.
template <class T>
nanobind::object Take(std::vector<T> values, nanobind::dlpack::dtype dtype, std::vector<size_t> shape = {}) {
  auto* kept = new std::vector<T>(std::move(values));
  const nanobind::capsule owner(kept, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  if (shape.empty()) shape = {kept->size()};
  return View(kept->data(), std::move(shape), dtype, owner);
}
template <class Id>
nanobind::object TakeIds(std::vector<Id> ids) {
  static_assert(sizeof(Id) == sizeof(int64_t));
  return Take(std::move(ids), nanobind::dtype<int64_t>());
}
inline nanobind::object TakeRows(std::vector<uint32_t> rows) {
  return Take(std::move(rows), nanobind::dtype<int32_t>());
}

// Returns NumPy's name of the dtype, such as "float32"; float32 for BF16.
std::string NumpyName(DType dtype);
// Throws InvalidArgument for a dtype that the library cannot store.
DType DTypeFromNumpyName(const std::string& name);
// Returns NumPy's dtype for the library's; float32 for BF16, which NumPy lacks.
nanobind::dlpack::dtype ToNumpyDType(DType dtype);

}  // namespace espalier::python
