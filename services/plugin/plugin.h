// A plugin in C++: functions over one partition and initialisers of tensors, as espalier_plugin.h has them, with spans,
// strings and exceptions.
//
//   std::string Count(const espalier::plugin::Context& context, std::string_view request) {
//     const espalier::plugin::Nodes nodes = context.nodes(context.FindNodeType(request));
//     return std::to_string(nodes.count);
//   }
//   void Ids(const espalier::plugin::Context&, const espalier::plugin::Rows& rows) {
//     const std::span<float> values = rows.values<float>();
//     for (size_t i = 0; i < values.size(); ++i) values[i] = float(rows.original_ids()[i / rows.row_size()]);
//   }
//   std::string Double(const espalier::plugin::Context& context, std::string_view name) {
//     const espalier::plugin::Tensor tensor = context.node_tensor(0, std::string(name));
//     const std::vector<uint64_t> rows = tensor.AllRows();
//     std::vector<float> values = tensor.Read<float>(rows);
//     for (float& value : values) value *= 2;
//     tensor.Assign<float>(rows, values);
//     return {};
//   }
//   ESPALIER_PLUGIN("1.0", espalier::plugin::Idempotent<Count>("count"), espalier::plugin::Initializer<Ids>("ids"),
//                   espalier::plugin::Changing<Double>("double"));
//
// Headers only, and none but the standard library's: nothing of Espalier is linked. What a function or an initialiser
// throws becomes the call's error: an Error its own code, anything else INTERNAL.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "services/plugin/espalier_plugin.h"

namespace espalier::plugin {

class Error : public std::exception {
 public:
  // `code` is one of ESPALIER_INVALID_ARGUMENT and its like.
  Error(int32_t code, std::string message) : code_(code), message_(std::move(message)) {}
  int32_t code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  int32_t code_;
  std::string message_;
};

inline Error BadRequest(std::string message) { return {ESPALIER_INVALID_ARGUMENT, std::move(message)}; }

// Bool, F16 and BF16 are no T: what looks into such arrays and tensors is a function as espalier_plugin.h has it. (An
// initialiser fills their rows by Rows::bytes.)
template <class T>
constexpr uint32_t DTypeOf() {
  if constexpr (std::is_same_v<T, uint8_t>) return ESPALIER_U8;
  if constexpr (std::is_same_v<T, int8_t>) return ESPALIER_I8;
  if constexpr (std::is_same_v<T, int16_t>) return ESPALIER_I16;
  if constexpr (std::is_same_v<T, int32_t>) return ESPALIER_I32;
  if constexpr (std::is_same_v<T, int64_t>) return ESPALIER_I64;
  if constexpr (std::is_same_v<T, float>) return ESPALIER_F32;
  if constexpr (std::is_same_v<T, double>) return ESPALIER_F64;
  if constexpr (std::is_same_v<T, uint16_t>) return ESPALIER_U16;
  if constexpr (std::is_same_v<T, uint32_t>) return ESPALIER_U32;
  if constexpr (std::is_same_v<T, uint64_t>) return ESPALIER_U64;
  return ESPALIER_NO_DTYPE;
}

// A view of an array of the server's. Indices are the caller's to check.
class Array {
 public:
  Array() = default;
  explicit Array(const EspalierArray& array) : array_(array) {}

  bool exists() const { return array_.dtype != ESPALIER_NO_DTYPE; }
  uint32_t dtype() const { return array_.dtype; }
  std::span<const int64_t> shape() const { return {array_.shape, array_.rank}; }
  size_t size() const {
    size_t count = exists() ? 1 : 0;
    for (const int64_t length : shape()) count *= static_cast<size_t>(length);
    return count;
  }
  // Elements of one row: of all dimensions but the first.
  size_t row_size() const {
    size_t count = 1;
    for (size_t i = 1; i < array_.rank; ++i) count *= static_cast<size_t>(array_.shape[i]);
    return count;
  }

  // Throws where they are no T.
  template <class T>
  std::span<const T> values() const {
    static_assert(DTypeOf<T>() != ESPALIER_NO_DTYPE, "arrays have no elements of this type");
    if (array_.dtype != DTypeOf<T>()) {
      throw Error(ESPALIER_FAILED_PRECONDITION, "the array's dtype is " + std::to_string(array_.dtype) + ", not " +
                                                    std::to_string(DTypeOf<T>()) + " (espalier_plugin.h)");
    }
    return {static_cast<const T*>(array_.data), size()};
  }
  // Element i of U32 or U64: ids.
  uint64_t id(size_t i) const {
    if (array_.dtype == ESPALIER_U32) return static_cast<const uint32_t*>(array_.data)[i];
    return values<uint64_t>()[i];
  }

 private:
  EspalierArray array_ = {};
};

struct Nodes {
  uint64_t count = 0, first = 0, total = 0;  // as EspalierNodes
  Array original_ids;
};
struct InEdges {
  uint64_t count = 0, first = 0, total = 0;  // as EspalierInEdges
  Array indptr, sources, original_ids;
};
struct Place {
  uint32_t partition = 0;
  uint64_t local_id = 0;
};

// A mutable tensor of the job that calls, and the rows of it that the partition owns, by local numbers: 0 to count()
// - 1. Good until the function returns; of one thread. What is wrong is thrown as an Error with the host's status and
// words (espalier_plugin.h); a T that is not the tensor's dtype is ESPALIER_INVALID_ARGUMENT. Not for elements of Bool,
// F16 and BF16 (DTypeOf).
class Tensor {
 public:
  Tensor(const EspalierHost* host, EspalierCall* call, const EspalierTensor& tensor)
      : host_(host), call_(call), tensor_(tensor) {}

  uint64_t count() const { return tensor_.count; }
  uint64_t first() const { return tensor_.first; }  // its global row
  uint64_t total() const { return tensor_.total; }  // in all partitions
  uint32_t dtype() const { return tensor_.dtype; }
  std::span<const int64_t> row_shape() const { return {tensor_.row_shape, tensor_.row_rank}; }
  // Elements of one row.
  size_t row_size() const {
    size_t size = 1;
    for (const int64_t length : row_shape()) size *= static_cast<size_t>(length);
    return size;
  }
  // 0, 1, ... count() - 1.
  std::vector<uint64_t> AllRows() const {
    std::vector<uint64_t> rows(count());
    std::iota(rows.begin(), rows.end(), uint64_t{0});
    return rows;
  }

  // [rows, row_size()]: the rows as they are at one moment.
  template <class T>
  std::vector<T> Read(std::span<const uint64_t> rows) const {
    std::vector<T> values(rows.size() * row_size());
    const EspalierTensorRows asked = RowsWith(rows, values.data(), values.size());
    Check(host_->read_rows(call_, tensor_.number, &asked));
    return values;
  }
  // Only of a function that is Changing. values [rows, row_size()]: made when the function has returned, all that it
  // asks for or nothing; rows that are repeated are taken in their order.
  template <class T>
  void Assign(std::span<const uint64_t> rows, std::span<const T> values) const {
    Change(ESPALIER_ASSIGN, rows, values);
  }
  template <class T>
  void Add(std::span<const uint64_t> rows, std::span<const T> values) const {
    Change(ESPALIER_ADD, rows, values);
  }
  template <class T>
  void Min(std::span<const uint64_t> rows, std::span<const T> values) const {
    Change(ESPALIER_MIN, rows, values);
  }
  template <class T>
  void Max(std::span<const uint64_t> rows, std::span<const T> values) const {
    Change(ESPALIER_MAX, rows, values);
  }
  template <class T>
  void Or(std::span<const uint64_t> rows, std::span<const T> values) const {
    Change(ESPALIER_OR, rows, values);
  }

 private:
  template <class T>
  static EspalierTensorRows RowsWith(std::span<const uint64_t> rows, T* values, size_t num_values) {
    static_assert(DTypeOf<T>() != ESPALIER_NO_DTYPE, "tensors have no elements of this type");
    return {rows.data(), rows.size(), values, num_values * sizeof(T), DTypeOf<T>()};
  }
  template <class T>
  void Change(uint32_t how, std::span<const uint64_t> rows, std::span<const T> values) const {
    const EspalierTensorRows asked = RowsWith(rows, const_cast<T*>(values.data()), values.size());  // which are read
    Check(host_->change_rows(call_, tensor_.number, how, &asked));
  }
  void Check(int32_t status) const {
    if (status != ESPALIER_OK) throw Error(status, host_->error(call_));
  }

  const EspalierHost* host_;
  EspalierCall* call_;
  EspalierTensor tensor_;
};

// The partition, and the call. Good until the function returns; of one thread.
class Context {
 public:
  Context(const EspalierHost* host, EspalierCall* call) : host_(host), call_(call) {}

  uint32_t partition() const { return host_->partition(call_); }
  uint32_t num_partitions() const { return host_->num_partitions(call_); }
  uint32_t num_node_types() const { return host_->num_node_types(call_); }
  uint32_t num_edge_types() const { return host_->num_edge_types(call_); }

  // Those that follow throw ESPALIER_NOT_FOUND where there is no such thing.

  uint32_t FindNodeType(std::string_view name) const {
    for (uint32_t type = 0; type < num_node_types(); ++type) {
      if (name == host_->node_type_name(call_, type)) return type;
    }
    throw Error(ESPALIER_NOT_FOUND, "no node type '" + std::string(name) + "'");
  }
  // By its relation, the first of that name in the order of types, or by "source:relation:destination".
  uint32_t FindEdgeType(std::string_view name) const {
    for (uint32_t type = 0; type < num_edge_types(); ++type) {
      const EspalierEdgeType edge_type = this->edge_type(type);
      const std::string relation = edge_type.relation;
      if (name == relation || name == edge_type.source + (":" + relation + ":") + edge_type.destination) return type;
    }
    throw Error(ESPALIER_NOT_FOUND, "no edge type '" + std::string(name) + "'");
  }
  EspalierEdgeType edge_type(uint32_t type) const {
    EspalierEdgeType found = {};
    Check(host_->edge_type(call_, type, &found), "edge type", type);
    return found;
  }
  Nodes nodes(uint32_t type) const {
    EspalierNodes found = {};
    Check(host_->nodes(call_, type, &found), "node type", type);
    return {found.count, found.first, found.total, Array(found.original_ids)};
  }
  InEdges in_edges(uint32_t type) const {
    EspalierInEdges found = {};
    Check(host_->in_edges(call_, type, &found), "edge type", type);
    return {found.count,         found.first,          found.total,
            Array(found.indptr), Array(found.sources), Array(found.original_ids)};
  }
  Array node_column(uint32_t type, const std::string& column) const {
    EspalierArray found = {};
    Check(host_->node_column(call_, type, column.c_str(), &found), "column '" + column + "' of node type", type);
    return Array(found);
  }
  Array edge_column(uint32_t type, const std::string& column) const {
    EspalierArray found = {};
    Check(host_->edge_column(call_, type, column.c_str(), &found), "column '" + column + "' of edge type", type);
    return Array(found);
  }
  Place locate_node(uint32_t type, uint64_t global_id) const {
    Place place;
    Check(host_->locate_node(call_, type, global_id, &place.partition, &place.local_id),
          "node " + std::to_string(global_id) + " of node type", type);
    return place;
  }

  // Of the job that calls; ESPALIER_NOT_FOUND names those that there are.
  Tensor node_tensor(uint32_t type, const std::string& name) const { return Find(ESPALIER_ROWS_OF_NODES, type, name); }
  Tensor edge_tensor(uint32_t type, const std::string& name) const { return Find(ESPALIER_ROWS_OF_EDGES, type, name); }
  Tensor own_tensor(const std::string& name) const { return Find(ESPALIER_ROWS_OF_OWN, 0, name); }

  std::chrono::nanoseconds remaining() const { return std::chrono::nanoseconds(host_->remaining_ns(call_)); }
  bool should_stop() const { return host_->should_stop(call_) != 0; }
  // For loops: throws ESPALIER_DEADLINE_EXCEEDED where nobody waits for the answer any more.
  void StopWhereNobodyWaits() const {
    if (should_stop()) throw Error(ESPALIER_DEADLINE_EXCEEDED, "nobody waits for the answer any more");
  }

 private:
  static void Check(int32_t status, const std::string& what, uint32_t type) {
    if (status != ESPALIER_OK) throw Error(status, "no " + what + " " + std::to_string(type));
  }
  Tensor Find(uint32_t rows_of, uint32_t type, const std::string& name) const {
    EspalierTensor found = {};
    const int32_t status = host_->find_tensor(call_, rows_of, type, name.c_str(), &found);
    if (status != ESPALIER_OK) throw Error(status, host_->error(call_));
    return {host_, call_, found};
  }

  const EspalierHost* host_;
  EspalierCall* call_;
};

// Rows to be filled: a view of an EspalierRows, which says what each field is. Good until the initialiser returns.
class Rows {
 public:
  explicit Rows(const EspalierRows& rows) : rows_(rows) {}

  std::string_view space() const { return rows_.space; }
  std::string_view stream() const { return rows_.stream; }
  uint64_t seed() const { return rows_.seed; }
  std::string_view arguments() const { return {static_cast<const char*>(rows_.arguments), rows_.argument_bytes}; }
  uint64_t total() const { return rows_.total; }
  uint64_t first_local() const { return rows_.first_local; }
  std::span<const uint64_t> original_ids() const { return {rows_.original_ids, rows_.count}; }
  std::span<const int64_t> row_shape() const { return {rows_.row_shape, rows_.row_rank}; }
  uint32_t dtype() const { return rows_.dtype; }
  // Elements of one row.
  size_t row_size() const {
    size_t count = 1;
    for (const int64_t length : row_shape()) count *= static_cast<size_t>(length);
    return count;
  }

  // To be written: [rows, row_size()]. Throws where they are no T.
  template <class T>
  std::span<T> values() const {
    static_assert(DTypeOf<T>() != ESPALIER_NO_DTYPE, "tensors have no elements of this type");
    if (rows_.dtype != DTypeOf<T>()) {
      throw BadRequest("the tensor's dtype is " + std::to_string(rows_.dtype) + ", expected " +
                       std::to_string(DTypeOf<T>()) + " (espalier_plugin.h)");
    }
    return {static_cast<T*>(rows_.values), rows_.count * row_size()};
  }
  // The same whatever they are.
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(rows_.values), rows_.value_bytes}; }

 private:
  const EspalierRows& rows_;
};

// The status of what `body` returns or throws: no exception leaves it.
template <class Body>
int32_t StatusOf(const EspalierHost* host, EspalierCall* call, Body body) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    host->set_error(call, error.what());
    return error.code() == ESPALIER_OK ? int32_t{ESPALIER_INTERNAL} : error.code();
  } catch (const std::exception& error) {
    host->set_error(call, error.what());
  } catch (...) {
    host->set_error(call, "it threw something that is no std::exception");
  }
  return ESPALIER_INTERNAL;
}

// What an EspalierFunction has to be, around a function of C++.
template <std::string (*function)(const Context&, std::string_view)>
int32_t Entry(const EspalierHost* host, EspalierCall* call, const void* request, size_t request_bytes) noexcept {
  return StatusOf(host, call, [&] {
    const std::string response =
        function(Context(host, call), std::string_view(static_cast<const char*>(request), request_bytes));
    return host->append_response(call, response.data(), response.size());
  });
}

// What an EspalierInitializer has to be: one that returns has filled all rows.
template <void (*initializer)(const Context&, const Rows&)>
int32_t InitializerEntry(const EspalierHost* host, EspalierCall* call, const EspalierRows* rows,
                         size_t* filled_bytes) noexcept {
  return StatusOf(host, call, [&]() -> int32_t {
    initializer(Context(host, call), Rows(*rows));
    *filled_bytes = rows->value_bytes;
    return ESPALIER_OK;
  });
}

// Entries of ESPALIER_PLUGIN.
template <std::string (*function)(const Context&, std::string_view)>
constexpr EspalierFunctionEntry Idempotent(const char* name) {
  return {name, &Entry<function>, ESPALIER_IDEMPOTENT};
}
template <std::string (*function)(const Context&, std::string_view)>
constexpr EspalierFunctionEntry NotIdempotent(const char* name) {
  return {name, &Entry<function>, ESPALIER_CALLED_ONCE};
}
// Changes tensors of the job that calls: run once however often its request arrives.
template <std::string (*function)(const Context&, std::string_view)>
constexpr EspalierFunctionEntry Changing(const char* name) {
  return {name, &Entry<function>, ESPALIER_CHANGING};
}
template <void (*initializer)(const Context&, const Rows&)>
constexpr EspalierInitializerEntry Initializer(const char* name) {
  return {name, &InitializerEntry<initializer>};
}

// Entries of both kinds, each kind in its order.
template <size_t num_functions, size_t num_initializers>
struct Entries {
  std::array<EspalierFunctionEntry, num_functions> functions = {};
  std::array<EspalierInitializerEntry, num_initializers> initializers = {};
};

template <class... Each>
constexpr auto Sorted(Each... entries) {
  constexpr size_t kFunctions = (size_t{0} + ... + (std::is_same_v<Each, EspalierFunctionEntry> ? 1 : 0));
  Entries<kFunctions, sizeof...(Each) - kFunctions> sorted;
  [[maybe_unused]] size_t functions = 0, initializers = 0;
  const auto add = [&](const auto& entry) {
    if constexpr (std::is_same_v<decltype(entry), const EspalierFunctionEntry&>) {
      sorted.functions[functions++] = entry;
    } else {
      sorted.initializers[initializers++] = entry;
    }
  };
  (add(entries), ...);
  return sorted;
}

}  // namespace espalier::plugin

// Once in a library, outside of any namespace: its version, and an entry for each function and initialiser.
#define ESPALIER_PLUGIN(plugin_version, ...)                                                            \
  extern "C" __attribute__((visibility("default"))) const EspalierPlugin* espalier_plugin_v3() {        \
    static constexpr auto kEntries = espalier::plugin::Sorted(__VA_ARGS__);                             \
    static constexpr EspalierPlugin kPlugin = {                                                         \
        ESPALIER_PLUGIN_VERSION, uint32_t{kEntries.functions.size()},    kEntries.functions.data(),     \
        plugin_version,          uint32_t{kEntries.initializers.size()}, kEntries.initializers.data()}; \
    return &kPlugin;                                                                                    \
  }                                                                                                     \
  static_assert(true)
