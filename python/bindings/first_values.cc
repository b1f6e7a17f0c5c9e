// First values of parameters, the trainer's bits.
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "python/bindings/bindings.h"
#include "services/kernels/first_values.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace espalier::python {
namespace {

using Values = nb::ndarray<float, nb::c_contig, nb::device::cpu>;

std::span<float> SpanOf(const Values& values) { return {values.data(), values.size()}; }

}  // namespace

void BindFirstValues(nb::module_& m) {
  m.def(
      "fill_uniform",
      [](const Values& values, double bound, uint64_t seed, const std::string& name) {
        kernels::FillUniform(SpanOf(values), bound, seed, name);
      },
      "values"_a.noconvert(), "bound"_a, "seed"_a, "name"_a);
  m.def(
      "fill_normal",
      [](const Values& values, double deviation, uint64_t seed, const std::string& name) {
        kernels::FillNormal(SpanOf(values), deviation, seed, name);
      },
      "values"_a.noconvert(), "deviation"_a, "seed"_a, "name"_a);
}

}  // namespace espalier::python
