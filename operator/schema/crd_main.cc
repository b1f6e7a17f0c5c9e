// espalier-crd: prints the CustomResourceDefinition, for crds/disttrainings.yaml.
#include <iostream>

#include "operator/schema/crd.h"

int main() {
  std::cout << espalier::ctl::schema::CrdYaml() << std::flush;
  return std::cout ? 0 : 1;
}
