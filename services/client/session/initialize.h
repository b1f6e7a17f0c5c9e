// The configuration of a program in a job, read from environment variables:
//
//   ESPALIER_SERVERS          host:port of each partition's graph server, separated by commas; host-[0-9]:port means
//                             ten addresses; replicas of a partition are joined by '|', and the first of them holds
//                             the writable data
//   ESPALIER_PARTITIONS       instead of servers: URI of the folder with manifest.json, whose partitions this process
//                             opens itself (standalone.h) with the settings in the storage variables and
//                             ESPALIER_DATA_DIR (docs/reference/environment.md)
//   ESPALIER_SAMPLERS         host:port of each sampler process, for loaders with SampledBy::kSamplers
//                             (loader_batches.h), separated by commas, with ranges as in ESPALIER_SERVERS; absent: no
//                             samplers
//   ESPALIER_RANK             rank of this program, from 0; absent: 0
//   ESPALIER_WORLD_SIZE       number of ranks; absent: 1
//   ESPALIER_PARTITION_KEY    64 hexadecimal digits; absent: any partitioning that the servers hold
//   ESPALIER_INCARNATION      incarnation of the job: grows with every restart; absent: the newest incarnation that the
//                             servers have seen
//   ESPALIER_JOB_NAME         name of the job, which selects its tensors, incarnation and samplers on servers that
//                             several jobs share; absent: the job without a name
//   ESPALIER_ACCESS           auto, rpc or mapped (session_options.h); absent: auto
//   ESPALIER_CONNECT_SECONDS  timeout in seconds for the servers to be up; absent: 60
//   ESPALIER_CALL_SECONDS     timeout in seconds of one query, including retries; absent: 600
//   ESPALIER_LOCAL_ADDRESS    address of this machine at which other ranks reach this rank (init_process_group.h);
//                             absent: loopback
//   ESPALIER_INSECURE_LISTEN_ANY
//                             true: allow a plaintext port at ESPALIER_LOCAL_ADDRESS even if other machines can reach
//                             it; absent: false
//   ESPALIER_TLS_CA, ESPALIER_TLS_CERTIFICATE, ESPALIER_TLS_KEY, ESPALIER_TLS_JOB
//                             paths of the CA, certificate and key, and namespace/uid of the job, for mutual TLS with
//                             servers, samplers and ranks: all four must be set, or none of them; if none is set:
//                             plaintext
//
// `espalier run -- PROGRAM`, `espalier launch -- PROGRAM` and the operator (spec.trainers.program) set these variables
// (docs/programs.md).
//
//   ASSIGN_OR_RETURN(const client::Context context, client::Initialize(client::ProcessEnvironment()));
//   ASSIGN_OR_RETURN(const auto graph, client::DistGraph::Open(context));
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "services/base/environment.h"
#include "services/client/session/session_options.h"
#include "services/graph/ids.h"

namespace espalier::client {

using Environment = EnvironmentMap;
// Returns the environment variables of this process.
Environment ProcessEnvironment();

// Configuration of a program in a job. A plain value: any number of graphs may be opened with it, concurrently or one
// after another.
struct Context {
  SessionOptions session;
  std::vector<std::string> samplers;  // "host:port" of each sampler process; empty: loaders must sample in this process
  Rank rank;
  uint32_t world_size = 1;
  std::string local_address = "127.0.0.1";          // address at which other ranks reach this rank
  bool plaintext_to_others = false;                 // allows a plaintext port that other machines can reach
  std::chrono::milliseconds call_timeout{600'000};  // of one query, including retries
};

// Parses the variables and loads the certificates; does not connect to a server. InvalidArgument: a variable is missing
// or invalid; the message names it. Errors of certificates are those of rpc::TransportSecurity::LoadWithRetry.
Result<Context> Initialize(const Environment& environment);

}  // namespace espalier::client
