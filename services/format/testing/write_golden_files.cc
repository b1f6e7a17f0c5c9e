// espalier_format_write_golden_files FOLDER: writes the content of services/format/testdata/tiny to an empty folder.
#include <cstdio>

#include "services/format/testing/tiny_graph.h"
#include "services/storage/open_store.h"

int main(int argc, char** argv) {
  const auto location = argc == 2 ? espalier::storage::OpenStore(argv[1])
                                  : espalier::InvalidArgument("usage: espalier_format_write_golden_files FOLDER");
  if (!location.ok()) {
    std::fprintf(stderr, "%s\n", location.status().message().c_str());
    return 64;
  }
  espalier::format::WriteGoldenFiles(*location->store);
  return 0;
}
