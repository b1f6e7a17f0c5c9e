/* What a graph server and a plugin of a user's know of each other, in C: version 3.
 *
 * A plugin is a shared library that exports
 *
 *     const EspalierPlugin* espalier_plugin_v3(void);
 *
 * Nothing but what stands here crosses the border, so that a plugin may be made by another compiler, with another
 * standard library, than the server. C++ authors include plugin.h, which wraps it. What is changed in an incompatible
 * way gets another number, here and in the name of the exported function; a server refuses what it does not know. It
 * knows two more: espalier_plugin_v2, whose functions are called once or idempotent and see no tensors, and
 * espalier_plugin_v1, with functions alone, whose EspalierPlugin ends after `version`. Both are given this version's
 * EspalierHost, which begins as theirs.
 *
 * A function or an initialiser runs in the server's process, on a thread of the server's, any number of times at once
 * (but for functions that change tensors): it is thread-safe, reads what the host gives it, writes nothing there but
 * the rows that it is to fill, and throws nothing. Pointers that the host gives are good until it returns.
 * docs/server-plugins.md says what else is expected.
 */
#ifndef ESPALIER_PLUGIN_H_
#define ESPALIER_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ESPALIER_PLUGIN_VERSION 3

/* What a function or an initialiser returns and the host's functions answer. */
enum {
  ESPALIER_OK = 0,
  ESPALIER_INVALID_ARGUMENT = 3,
  ESPALIER_DEADLINE_EXCEEDED = 4, /* it has looked at should_stop, and stops */
  ESPALIER_NOT_FOUND = 5,
  ESPALIER_RESOURCE_EXHAUSTED = 8,
  ESPALIER_FAILED_PRECONDITION = 9,
  ESPALIER_OUT_OF_RANGE = 11,
  ESPALIER_INTERNAL = 13,
  ESPALIER_UNAVAILABLE = 14 /* of one that may be repeated: the client asks again until its deadline */
};

/* Elements of an array. */
enum {
  ESPALIER_NO_DTYPE = 0, /* there is no such array */
  ESPALIER_BOOL = 1,
  ESPALIER_U8 = 2,
  ESPALIER_I8 = 3,
  ESPALIER_I16 = 4,
  ESPALIER_I32 = 5,
  ESPALIER_I64 = 6,
  ESPALIER_F16 = 7,
  ESPALIER_BF16 = 8,
  ESPALIER_F32 = 9,
  ESPALIER_F64 = 10,
  ESPALIER_U16 = 11,
  ESPALIER_U32 = 12,
  ESPALIER_U64 = 13
};

typedef struct EspalierArray {
  const void* data;     /* row-major, little-endian, aligned; of no elements: anything */
  const int64_t* shape; /* [rank] */
  uint32_t rank;
  uint32_t dtype;
} EspalierArray;

/* The nodes of one type that the partition owns: local ids 0 to count - 1, global ids first to first + count - 1. */
typedef struct EspalierNodes {
  uint64_t count;
  uint64_t first;
  uint64_t total;             /* of all partitions */
  EspalierArray original_ids; /* U32 or U64 [count]: the user's own, ascending */
} EspalierNodes;

typedef struct EspalierEdgeType {
  const char* source; /* names: "author", "writes", "paper" */
  const char* relation;
  const char* destination;
  uint32_t source_type; /* node types */
  uint32_t destination_type;
} EspalierEdgeType;

/* The edges of one type that the partition owns, those into its nodes: edge ids first to first + count - 1, in the
 * order of `sources`. The in-edges of local node v of the destination's type are indptr[v] to indptr[v + 1] - 1. */
typedef struct EspalierInEdges {
  uint64_t count;
  uint64_t first;
  uint64_t total;             /* of all partitions */
  EspalierArray indptr;       /* U32 or U64 [owned destinations + 1] */
  EspalierArray sources;      /* U32 or U64 [count]: global ids, of any owner */
  EspalierArray original_ids; /* U32 or U64 [count]: the user's own; ESPALIER_NO_DTYPE where they are not loaded */
} EspalierInEdges;

/* What the rows of a mutable tensor stand for. */
enum {
  ESPALIER_ROWS_OF_NODES = 0, /* the nodes of a type: local row v is that of local node v */
  ESPALIER_ROWS_OF_EDGES = 1, /* the edges of a type, in the order of EspalierInEdges */
  ESPALIER_ROWS_OF_OWN = 2    /* any number of rows */
};

/* A mutable tensor of the job that calls, as far as the partition owns its rows: local rows 0 to count - 1, global rows
 * first to first + count - 1. Of this call: it stays the tensor that was found, whatever is made of its name. */
typedef struct EspalierTensor {
  uint32_t number; /* what it is called by */
  uint32_t dtype;
  const int64_t* row_shape; /* [row_rank]: of one row; no dimensions: one value */
  uint32_t row_rank;
  size_t row_bytes; /* of one row */
  uint64_t count;
  uint64_t first;
  uint64_t total; /* of all partitions */
} EspalierTensor;

/* How given rows are put into a tensor's: as DistTensor does it. Of floating numbers a minimum or maximum with a NaN is
 * NaN, integers wrap around; of Bool a sum and a maximum are "or", a minimum is "and"; OR is for Bool and integers. */
enum { ESPALIER_ASSIGN = 0, ESPALIER_ADD = 1, ESPALIER_MIN = 2, ESPALIER_MAX = 3, ESPALIER_OR = 4 };

/* Rows of a tensor and their values. */
typedef struct EspalierTensorRows {
  const uint64_t* rows; /* [count]: local rows, in any order; may be repeated, and are then taken in this order */
  uint64_t count;       /* at most the server's --max-rows: 2^24 where nothing else is said */
  void* values;         /* [count, row_shape...] row-major, little-endian, aligned */
  size_t value_bytes;   /* count times the tensor's row_bytes */
  uint32_t dtype;       /* the tensor's */
} EspalierTensorRows;

/* One call under way. */
typedef struct EspalierCall EspalierCall;

/* What a function or an initialiser may ask of the server. Types are numbers from 0, in the order of their names. Where
 * an answer is a status it is ESPALIER_OK, or what is said there, and `out` is left as it was: of those down to
 * locate_node ESPALIER_NOT_FOUND. */
typedef struct EspalierHost {
  uint32_t (*partition)(const EspalierCall* call);
  uint32_t (*num_partitions)(const EspalierCall* call);
  uint32_t (*num_node_types)(const EspalierCall* call);
  uint32_t (*num_edge_types)(const EspalierCall* call);
  const char* (*node_type_name)(const EspalierCall* call, uint32_t node_type); /* null: no such type */
  int32_t (*edge_type)(const EspalierCall* call, uint32_t edge_type, EspalierEdgeType* out);
  int32_t (*nodes)(const EspalierCall* call, uint32_t node_type, EspalierNodes* out);
  int32_t (*in_edges)(const EspalierCall* call, uint32_t edge_type, EspalierInEdges* out);
  /* Immutable columns: features, labels and others of owned nodes [count, ...] and, where loaded, of owned edges. */
  int32_t (*node_column)(const EspalierCall* call, uint32_t node_type, const char* column, EspalierArray* out);
  int32_t (*edge_column)(const EspalierCall* call, uint32_t edge_type, const char* column, EspalierArray* out);
  /* Which partition owns a global id, and what it is there. */
  int32_t (*locate_node)(const EspalierCall* call, uint32_t node_type, uint64_t global_id, uint32_t* partition,
                         uint64_t* local_id);

  /* What is left of the caller's time, in nanoseconds; 0 where it is over. */
  int64_t (*remaining_ns)(const EspalierCall* call);
  /* Not 0: nobody waits for the answer any more. Long work asks now and then, and returns. */
  int32_t (*should_stop)(const EspalierCall* call);
  /* Adds to the response. ESPALIER_RESOURCE_EXHAUSTED: it would be over the limit, and the call will end with that. An
   * initialiser has no response. */
  int32_t (*append_response)(EspalierCall* call, const void* data, size_t size_bytes);
  /* What the caller is told where an error is returned; cut after 1024 bytes. Where nothing is set, and the error is
   * what the host has answered last, `error` is told. */
  void (*set_error)(EspalierCall* call, const char* message);

  /* Mutable tensors; since version 3. An initialiser sees none (ESPALIER_FAILED_PRECONDITION).
   *
   * A tensor by what its rows stand for, their type (0 of own rows) and its name. ESPALIER_NOT_FOUND names those that
   * the job has; ESPALIER_INVALID_ARGUMENT: no such rows, or no name; ESPALIER_UNAVAILABLE: it is being made. */
  int32_t (*find_tensor)(EspalierCall* call, uint32_t rows_of, uint32_t type, const char* name, EspalierTensor* out);
  /* Fills the values: the rows as they are at one moment, of the tensor with that number. ESPALIER_INVALID_ARGUMENT: a
   * row that the partition does not own, another dtype, or bytes that do not fit; ESPALIER_RESOURCE_EXHAUSTED: too many
   * rows; ESPALIER_NOT_FOUND: the tensor has been dropped; ESPALIER_FAILED_PRECONDITION: the call has asked for a
   * change of one of the rows, which is not made yet. */
  int32_t (*read_rows)(EspalierCall* call, uint32_t tensor, const EspalierTensorRows* rows);
  /* Puts the values (which it copies) into the rows by ESPALIER_ASSIGN or its like, once the function has returned
   * ESPALIER_OK: all that a call has asked for, in its order, each as a whole; or nothing, where it returns something
   * else or the caller's time is over. Errors as those of read_rows; ESPALIER_FAILED_PRECONDITION: the function is not
   * ESPALIER_CHANGING; ESPALIER_RESOURCE_EXHAUSTED: the call's changes come to more than 64 MiB, 256 bytes for each, 4
   * for each row and the values. After an error the other changes are made nevertheless, if it returns ESPALIER_OK. */
  int32_t (*change_rows)(EspalierCall* call, uint32_t tensor, uint32_t how, const EspalierTensorRows* rows);
  /* What was wrong, where the last answer of these three is an error; "" where it is none. Good until the next. */
  const char* (*error)(const EspalierCall* call);
} EspalierHost;

/* Answers a request: ESPALIER_OK, or an error. `request` holds request_bytes bytes that anybody may have sent. */
typedef int32_t (*EspalierFunction)(const EspalierHost* host, EspalierCall* call, const void* request,
                                    size_t request_bytes);

/* What becomes of a request where a server could not be reached, and what its function may do. */
enum {
  ESPALIER_CALLED_ONCE = 0, /* clients ask once */
  ESPALIER_IDEMPOTENT = 1,  /* clients ask again: the last answer is as good as the first */
  /* Changes tensors. Clients ask again, and a request that has changed them is not run a second time: its answer is
   * kept, and given again. One such function runs at a time on a server, so that nobody else's comes between what it
   * reads and what it writes. */
  ESPALIER_CHANGING = 2
};

typedef struct EspalierFunctionEntry {
  const char* name; /* [A-Za-z0-9_][A-Za-z0-9_.-]{0,127} */
  EspalierFunction function;
  int32_t kind; /* ESPALIER_CALLED_ONCE and its like; of versions 1 and 2 everything but 0 is ESPALIER_IDEMPOTENT */
} EspalierFunctionEntry;

/* Rows of a tensor that get their first values: some of those that the partition owns, one after the other. */
typedef struct EspalierRows {
  const char* space;     /* what they stand for: "nodes/paper", "edges/author:writes:paper" or "own" */
  const char* stream;    /* what random values are keyed by besides the seed: the tensor's name, mostly */
  uint64_t seed;         /* whoever makes the tensor says it, and the arguments */
  const void* arguments; /* argument_bytes bytes that anybody may have sent */
  size_t argument_bytes;
  uint64_t total;               /* rows of the tensor in all partitions */
  uint64_t count;               /* rows to be filled now, at least 1; a partition's rows may come in several calls */
  uint64_t first_local;         /* of nodes and edges: where the first stands in their columns */
  const uint64_t* original_ids; /* [count]: the user's own ids of the rows' nodes or edges; own rows: their numbers */
  const int64_t* row_shape;     /* [row_rank]: of one row; no dimensions: one value */
  uint32_t row_rank;
  uint32_t dtype;
  void* values;       /* [count, row_shape...] row-major, little-endian, aligned, all zeros: to be filled */
  size_t value_bytes; /* of all of them, at least 1 */
} EspalierRows;

/* Fills rows: ESPALIER_OK with *filled_bytes = rows->value_bytes, or an error, and then nothing is kept of the tensor.
 *
 * A row's values are a function of its original id, of the fields but count and first_local, and of what the whole
 * graph says of its node or edge: never of partitions, local or global ids, time, or the order of calls. So a tensor is
 * the same for any partitioning, and when it is made again. */
typedef int32_t (*EspalierInitializer)(const EspalierHost* host, EspalierCall* call, const EspalierRows* rows,
                                       size_t* filled_bytes);

typedef struct EspalierInitializerEntry {
  const char* name; /* as a function's; a function may have the same */
  EspalierInitializer initializer;
} EspalierInitializerEntry;

/* With one function or initialiser at least. */
typedef struct EspalierPlugin {
  uint32_t interface_version;             /* ESPALIER_PLUGIN_VERSION */
  uint32_t num_functions;                 /* 0 to 256 */
  const EspalierFunctionEntry* functions; /* of none: anything */
  const char* version;                    /* the plugin's own, for logs; may be null */
  uint32_t num_initializers;              /* 0 to 256 */
  const EspalierInitializerEntry* initializers;
} EspalierPlugin;

typedef const EspalierPlugin* (*EspalierPluginEntry)(void);
#define ESPALIER_PLUGIN_SYMBOL "espalier_plugin_v3"

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_PLUGIN_H_ */
