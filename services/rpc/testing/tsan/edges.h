// Annotations for ThreadSanitizer. Debian's abseil and gRPC are not instrumented, so accesses that their primitives
// order would be reported as races. The files in this folder annotate these primitives: each function has the name of a
// library function and interposes it, also for calls by the library, because the dynamic linker prefers symbols of the
// program.
//
// An annotation orders only threads that use the same primitive; races between other threads are still reported. Two
// approximations: an acquire is ordered after all earlier releases of the primitive, not only after the last one, and
// the sanitizer treats all sockets as one. Memory accesses inside the libraries are not checked.
#pragma once

#include <dlfcn.h>

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

namespace espalier::tsan {

// Orders the accesses of this thread before every later Acquire of the same address.
inline void Release(void* address) { __tsan_release(address); }
inline void Acquire(void* address) { __tsan_acquire(address); }

// Returns the library function of this (mangled) name.
template <class Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace espalier::tsan
