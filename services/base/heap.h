// The C library's heap, for processes that receive or compute bulk data. Each once, before other threads start.
#pragma once

namespace espalier {

// Keeps up to 32 MiB that were freed at the end of each of the heap's arenas, instead of returning all beyond 128 KiB
// to the system, and takes blocks up to 32 MiB from it: gRPC receives messages into blocks that it frees at once, and
// memory that comes anew from the system costs a page fault for every 4 KiB, as much as the bytes cost to copy.
void KeepFreedMemory();

// Lets threads share as many of the heap's arenas as there are processors, where there would be eight for each: what
// was freed in an arena serves only those threads that allocate there.
void ShareArenas();

}  // namespace espalier
