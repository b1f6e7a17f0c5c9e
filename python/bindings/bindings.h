// One function for each part of the extension module: BindGraph is in graph.cc, BindTensors in tensors.cc, and so on.
// The module is used by the classes in espalier/*.py, not by users. The classes convert arguments before they call it:
// node and edge types are numbers, ids are int64 arrays, and timeouts are seconds (None: the default of the call).
#pragma once

#include <nanobind/nanobind.h>

namespace espalier::python {

void BindGraph(nanobind::module_& m);
void BindTensors(nanobind::module_& m);
void BindLoaders(nanobind::module_& m);
void BindAudit(nanobind::module_& m);
void BindBuffers(nanobind::module_& m);
void BindSignalStack(nanobind::module_& m);
void BindCertificates(nanobind::module_& m);
void BindEmbeddings(nanobind::module_& m);
void BindFirstValues(nanobind::module_& m);
void BindKernels(nanobind::module_& m);
void BindOutputs(nanobind::module_& m);
void BindProcessGroup(nanobind::module_& m);

}  // namespace espalier::python
