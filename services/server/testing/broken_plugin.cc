// Libraries that are no plugins of this version, one for each definition.
#include "services/plugin/espalier_plugin.h"

#if defined(ESPALIER_BROKEN_VERSION)
extern "C" __attribute__((visibility("default"))) const EspalierPlugin* espalier_plugin_v1() {
  static const EspalierPlugin plugin = {99, 0, nullptr, nullptr};
  return &plugin;
}
#elif defined(ESPALIER_BROKEN_NAMES)
namespace {
int32_t Nothing(const EspalierHost*, EspalierCall*, const void*, size_t) { return ESPALIER_OK; }
}  // namespace
extern "C" __attribute__((visibility("default"))) const EspalierPlugin* espalier_plugin_v1() {
  static const EspalierFunctionEntry functions[] = {{"same", &Nothing, 1}, {"same", &Nothing, 0}};
  static const EspalierPlugin plugin = {ESPALIER_PLUGIN_VERSION, 2, functions, nullptr};
  return &plugin;
}
#else
extern "C" __attribute__((visibility("default"))) int espalier_nothing_of_a_plugin() { return 0; }
#endif
