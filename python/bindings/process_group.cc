// Binds the process group of a job's ranks. An interruption ends a collective operation by Abandon (process_group.h),
// so the group gets deadlines without a stop token.
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/process_group.h"
#include "python/bindings/waits.h"
#include "services/client/init_process_group.h"
#include "services/collective/agreement.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace espalier::python {
namespace {

using client::DistGraph;
using collective::Collective;
using Seconds = std::optional<double>;

template <class T>
using Values = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class T>
void AllReduceSum(ProcessGroup& self, const Values<T>& values, Seconds timeout) {
  const std::span<T> span(values.data(), values.size());
  self.Run(timeout,
           [&](Collective& group, Deadline deadline) { return group.AllReduceSum(span, deadline.WithoutStop()); });
}

void Broadcast(ProcessGroup& self, const Values<uint8_t>& bytes, uint32_t root, Seconds timeout) {
  if (root >= self.group().size()) {
    throw StatusError(InvalidArgument("root " + std::to_string(root) + " does not exist in a group of " +
                                      std::to_string(self.group().size()) + " ranks"));
  }
  const std::span<std::byte> span(reinterpret_cast<std::byte*>(bytes.data()), bytes.size());
  self.Run(timeout, [&](Collective& group, Deadline deadline) {
    return group.Broadcast(span, Rank(root), deadline.WithoutStop());
  });
}

nb::object AllGather(ProcessGroup& self, const nb::ndarray<const uint8_t, nb::c_contig, nb::device::cpu>& bytes,
                     Seconds timeout) {
  const std::span<const std::byte> span(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
  std::vector<std::byte> all;
  self.Run(timeout, [&](Collective& group, Deadline deadline) -> Status {
    ASSIGN_OR_RETURN(all, group.AllGather(span, deadline.WithoutStop()));
    return Status();
  });
  return Take(std::move(all), nb::dtype<uint8_t>());
}

}  // namespace

void BindProcessGroup(nb::module_& m) {
  nb::class_<ProcessGroup>(m, "ProcessGroup")
      .def_prop_ro("rank", [](const ProcessGroup& g) { return g.group().rank().value; })
      .def_prop_ro("size", [](const ProcessGroup& g) { return g.group().size(); })
      .def_prop_ro("backend", [](const ProcessGroup& g) { return g.group().backend(); })
      .def("all_reduce_sum", &AllReduceSum<float>, "values"_a.noconvert(), "timeout"_a.none())
      .def("all_reduce_sum", &AllReduceSum<double>, "values"_a.noconvert(), "timeout"_a.none())
      .def("broadcast", &Broadcast, "bytes"_a.noconvert(), "root"_a, "timeout"_a.none())
      .def("all_gather", &AllGather, "bytes"_a.noconvert(), "timeout"_a.none())
      .def(
          "barrier",
          [](ProcessGroup& self, Seconds timeout) {
            self.Run(timeout,
                     [](Collective& group, Deadline deadline) { return group.Barrier(deadline.WithoutStop()); });
          },
          "timeout"_a.none())
      // Exchanges the errors of all ranks (code "": no error). If any rank has an error, every rank raises the error of
      // the lowest such rank.
      .def("agree",
           [](ProcessGroup& self, const std::string& code, const std::string& message) {
             const Status own = code.empty() ? Status() : Status(CodeFromName(code), message);
             self.Run({}, [&](Collective& group, const Deadline& deadline) {
               return collective::AgreeOn(own, group, deadline.Remaining());
             });
           })
      .def("leave", [](ProcessGroup& self) {
        self.Run({}, [](Collective& group, Deadline) {
          group.Abandon();
          return Status();
        });
      });
  m.def(
      "init_process_group",
      [](const DistGraph& graph, Seconds timeout) {
        std::unique_ptr<Collective> group = CallInterruptibly(timeout, graph.CallDeadline(), [&](Deadline deadline) {
          return client::InitProcessGroup(graph, graph.context(), deadline);
        });
        return std::make_unique<ProcessGroup>(std::move(group), graph.context().call_timeout);
      },
      "graph"_a, "timeout"_a.none());
}

}  // namespace espalier::python
