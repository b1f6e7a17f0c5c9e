// espalier._core: espalier::client for Python, without libtorch.
#include "python/bindings/bindings.h"
#include "python/bindings/waits.h"

NB_MODULE(_core, m) {
  m.doc() = "espalier::client for the package espalier; not for use by programs";
  m.attr("__version__") = ESPALIER_VERSION;
  // Objects may still be alive at exit; their memory is freed with the process.
  nanobind::set_leak_warnings(false);
  espalier::python::BindErrors(m);
  espalier::python::BindGraph(m);
  espalier::python::BindTensors(m);
  espalier::python::BindLoaders(m);
  espalier::python::BindProcessGroup(m);
  espalier::python::BindEmbeddings(m);
  espalier::python::BindOutputs(m);
  espalier::python::BindAudit(m);
  espalier::python::BindKernels(m);
  espalier::python::BindBuffers(m);
  espalier::python::BindSignalStack(m);
  espalier::python::BindFirstValues(m);
  espalier::python::BindCertificates(m);
}
