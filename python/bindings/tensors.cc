// Binds DistTensor: creates, opens and drops tensors, and reads, writes and reduces their rows.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/rows.h"
#include "python/bindings/waits.h"
#include "services/client/tensors/dist_tensor.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace espalier::python {
namespace {

using client::DistGraph;
using client::DistTensor;
using client::RowSpace;
using Seconds = std::optional<double>;

DistTensor CreateTensor(const DistGraph& graph, const std::string& of, uint32_t type, uint64_t num_rows,
                        std::vector<int64_t> row_shape, const std::string& dtype, const std::string& name,
                        const std::string& initializer, const std::vector<double>& values, uint64_t seed,
                        bool persistent) {
  const client::DistTensorOptions options{
      .rows = MakeRowSpace(graph, of, type, num_rows),
      .row_shape = std::move(row_shape),
      .dtype = DTypeFromNumpyName(dtype),
      .name = name,
      .initializer = MakeInitializer(initializer, values, seed),
      .lifetime = persistent ? client::Lifetime::kPersistent : client::Lifetime::kScoped};
  return CallWithStop(graph, [&](const DistGraph& handle) { return DistTensor::Create(handle, options); });
}

using Write = Status (DistTensor::*)(std::span<const GlobalRowId>, const Tensor&, std::optional<Deadline>);
template <Write kWrite>
void WriteRows(DistTensor& tensor, const DistGraph& graph, const IdArray& rows, const AnyArray& values,
               Seconds timeout) {
  const Tensor copy = FromNumpy(values);
  const auto ids = SpanOf<GlobalRowId>(rows);
  CallInterruptibly(timeout, graph.CallDeadline(),
                    [&](Deadline deadline) { return (tensor.*kWrite)(ids, copy, deadline); });
}

using Reduction = Result<Tensor> (DistTensor::*)(std::optional<Deadline>) const;
template <Reduction kReduce>
nb::object Reduce(const DistTensor& tensor, const DistGraph& graph, Seconds timeout) {
  return ToNumpy(
      CallInterruptibly(timeout, graph.CallDeadline(), [&](Deadline deadline) { return (tensor.*kReduce)(deadline); }));
}

}  // namespace

void BindTensors(nb::module_& m) {
  nb::class_<DistTensor>(m, "DistTensor")
      .def_prop_ro("name", &DistTensor::name)
      .def_prop_ro("dtype", [](const DistTensor& t) { return NumpyName(t.dtype()); })
      .def_prop_ro("shape", &DistTensor::shape)
      .def_prop_ro("rows",
                   [](const DistTensor& t) {
                     const char* const of = t.rows().of == sampler::RowsOf::kNodes   ? "nodes"
                                            : t.rows().of == sampler::RowsOf::kEdges ? "edges"
                                                                                     : "own";
                     return nb::make_tuple(of, t.rows().type);
                   })
      .def(
          "read",
          [](const DistTensor& t, const DistGraph& graph, const IdArray& rows, Seconds timeout) {
            const auto ids = SpanOf<GlobalRowId>(rows);
            return ShareWithNumpy(CallInterruptibly(timeout, graph.CallDeadline(),
                                                    [&](Deadline deadline) { return t.ReadRows(ids, deadline); }));
          },
          "graph"_a, "rows"_a, "timeout"_a.none())
      .def("write", &WriteRows<&DistTensor::WriteRows>, "graph"_a, "rows"_a, "values"_a, "timeout"_a.none())
      .def("add", &WriteRows<&DistTensor::AddRows>, "graph"_a, "rows"_a, "values"_a, "timeout"_a.none())
      .def("min_rows", &WriteRows<&DistTensor::MinRows>, "graph"_a, "rows"_a, "values"_a, "timeout"_a.none())
      .def("max_rows", &WriteRows<&DistTensor::MaxRows>, "graph"_a, "rows"_a, "values"_a, "timeout"_a.none())
      .def(
          "logical_or",
          [](DistTensor& t, const DistGraph& graph, const DistTensor& other, Seconds timeout) {
            CallInterruptibly(timeout, graph.CallDeadline(), [&](Deadline deadline) { return t.Or(other, deadline); });
          },
          "graph"_a, "other"_a, "timeout"_a.none())
      .def(
          "count_nonzero",
          [](const DistTensor& t, const DistGraph& graph, Seconds timeout) {
            return CallInterruptibly(timeout, graph.CallDeadline(),
                                     [&](Deadline deadline) { return t.CountNonzero(deadline); });
          },
          "graph"_a, "timeout"_a.none())
      .def("sum", &Reduce<&DistTensor::Sum>, "graph"_a, "timeout"_a.none())
      .def("min", &Reduce<&DistTensor::Min>, "graph"_a, "timeout"_a.none())
      .def("max", &Reduce<&DistTensor::Max>, "graph"_a, "timeout"_a.none())
      .def("mean", &Reduce<&DistTensor::Mean>, "graph"_a, "timeout"_a.none())
      .def("attach", [](DistTensor& t, const std::string& column) { ThrowIfError(t.AttachAs(column)); })
      .def("detach", &DistTensor::Detach);
  m.def("create_tensor", &CreateTensor);
  m.def("open_tensor", [](const DistGraph& graph, const std::string& of, uint32_t type, const std::string& name) {
    const RowSpace rows = MakeRowSpace(graph, of, type, 0);
    return CallWithStop(graph, [&](const DistGraph& handle) { return DistTensor::Open(handle, rows, name); });
  });
  m.def("drop_tensor", [](const DistGraph& graph, const std::string& of, uint32_t type, const std::string& name) {
    const RowSpace rows = MakeRowSpace(graph, of, type, 0);
    CallWithStop(graph, [&](const DistGraph& handle) { return DistTensor::Drop(handle, rows, name); });
  });
}

}  // namespace espalier::python
