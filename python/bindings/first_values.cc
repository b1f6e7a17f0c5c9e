// Initial values of parameters, bitwise equal to the trainer's.
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

using Parameter = nb::ndarray<float, nb::c_contig, nb::device::cpu>;

std::span<float> ValuesIn(const Parameter& parameter) { return {parameter.data(), parameter.size()}; }

}  // namespace

void BindFirstValues(nb::module_& m) {
  m.def(
      "fill_uniform",
      [](const Parameter& values, double bound, uint64_t seed, const std::string& name) {
        kernels::FillUniform(ValuesIn(values), bound, seed, name);
      },
      "values"_a.noconvert(), "bound"_a, "seed"_a, "name"_a);
  m.def(
      "fill_normal",
      [](const Parameter& values, double deviation, uint64_t seed, const std::string& name) {
        kernels::FillNormal(ValuesIn(values), deviation, seed, name);
      },
      "values"_a.noconvert(), "deviation"_a, "seed"_a, "name"_a);
}

}  // namespace espalier::python
