// A plugin as it was built when the interface had version 1: its table ends after the plugin's own version.
#include "services/plugin/espalier_plugin.h"

namespace {

struct PluginAsItWas {
  uint32_t interface_version;
  uint32_t num_functions;
  const EspalierFunctionEntry* functions;
  const char* version;
};

int32_t Partition(const EspalierHost* host, EspalierCall* call, const void*, size_t) {
  const char digit = static_cast<char>('0' + host->partition(call));
  return host->append_response(call, &digit, 1);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* espalier_plugin_v1() {
  static const EspalierFunctionEntry functions[] = {{"partition", &Partition, 1}};
  static const PluginAsItWas plugin = {1, 1, functions, "0.9"};
  return &plugin;
}
