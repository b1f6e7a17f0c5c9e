// A plugin as it was built when the interface had version 2, in which every kind other than 0 meant idempotent.
#include "services/plugin/espalier_plugin.h"

namespace {

struct EntryAsItWas {
  const char* name;
  EspalierFunction function;
  int32_t is_idempotent;
};
struct PluginAsItWas {
  uint32_t interface_version;
  uint32_t num_functions;
  const EntryAsItWas* functions;
  const char* version;
  uint32_t num_initializers;
  const EspalierInitializerEntry* initializers;
};

int32_t Partition(const EspalierHost* host, EspalierCall* call, const void*, size_t) {
  const char digit = static_cast<char>('0' + host->partition(call));
  return host->append_response(call, &digit, 1);
}

int32_t Nothing(const EspalierHost*, EspalierCall*, const EspalierRows* rows, size_t* filled_bytes) {
  *filled_bytes = rows->value_bytes;
  return ESPALIER_OK;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* espalier_plugin_v2() {
  static const EntryAsItWas functions[] = {{"partition", &Partition, 2}, {"once", &Partition, 0}};
  static const EspalierInitializerEntry initializers[] = {{"nothing", &Nothing}};
  static const PluginAsItWas plugin = {2, 2, functions, "1.9", 1, initializers};
  return &plugin;
}
