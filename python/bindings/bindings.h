// The subjects of the extension module, each bound by a file of that name. The classes in espalier/*.py are what users
// see: types are numbers here, ids int64 arrays, and nothing is converted.
#pragma once

#include <nanobind/nanobind.h>

namespace espalier::python {

void BindGraph(nanobind::module_& m);
void BindTensors(nanobind::module_& m);
void BindLoaders(nanobind::module_& m);
void BindAudit(nanobind::module_& m);
void BindBuffers(nanobind::module_& m);
void BindCertificates(nanobind::module_& m);
void BindEmbeddings(nanobind::module_& m);
void BindFirstValues(nanobind::module_& m);
void BindKernels(nanobind::module_& m);
void BindOutputs(nanobind::module_& m);
void BindProcessGroup(nanobind::module_& m);

}  // namespace espalier::python
