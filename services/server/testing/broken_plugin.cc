// Libraries that are not valid plugins of this version: one for each ESPALIER_BROKEN_ macro, and one without any.
#include "services/plugin/espalier_plugin.h"

#define ESPALIER_EXPORTED extern "C" __attribute__((visibility("default")))

#if defined(ESPALIER_BROKEN_VERSION)
ESPALIER_EXPORTED const EspalierPlugin* espalier_plugin_v3() {
  static const EspalierPlugin plugin = {99, 0, nullptr, nullptr, 0, nullptr};
  return &plugin;
}
#elif defined(ESPALIER_BROKEN_NAMES)
namespace {
int32_t Nothing(const EspalierHost*, EspalierCall*, const void*, size_t) { return ESPALIER_OK; }
}  // namespace
ESPALIER_EXPORTED const EspalierPlugin* espalier_plugin_v3() {
  static const EspalierFunctionEntry functions[] = {{"same", &Nothing, 1}, {"same", &Nothing, 0}};
  static const EspalierPlugin plugin = {ESPALIER_PLUGIN_VERSION, 2, functions, nullptr, 0, nullptr};
  return &plugin;
}
#elif defined(ESPALIER_BROKEN_KIND)
namespace {
int32_t Nothing(const EspalierHost*, EspalierCall*, const void*, size_t) { return ESPALIER_OK; }
}  // namespace
ESPALIER_EXPORTED const EspalierPlugin* espalier_plugin_v3() {
  static const EspalierFunctionEntry functions[] = {{"strange", &Nothing, 3}};
  static const EspalierPlugin plugin = {ESPALIER_PLUGIN_VERSION, 1, functions, nullptr, 0, nullptr};
  return &plugin;
}
#elif defined(ESPALIER_BROKEN_INITIALIZER)
ESPALIER_EXPORTED const EspalierPlugin* espalier_plugin_v3() {
  static const EspalierInitializerEntry initializers[] = {{"nothing", nullptr}};
  static const EspalierPlugin plugin = {ESPALIER_PLUGIN_VERSION, 0, nullptr, nullptr, 1, initializers};
  return &plugin;
}
#else
ESPALIER_EXPORTED int espalier_nothing_of_a_plugin() { return 0; }
#endif
