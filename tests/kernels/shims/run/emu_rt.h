// Fiber runtime: cooperative threads, rendezvous for simdgroup ops and barriers, divergence detection.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <csetjmp>
#include <csignal>
#include <sys/mman.h>
#if !defined(__x86_64__) || defined(TQ_UCONTEXT)
#include <ucontext.h>
#endif
namespace emu {
enum Kind { RUN = 0, SIMD = 1, TG_BARRIER = 2, DONE = 3 };
constexpr int MAXT = 1024;
constexpr size_t STACK = 64 * 1024;
struct U3 {
  unsigned x, y, z;
};
struct Attr {
  U3 pos_tg, tg_pos, tg_per_grid;
  unsigned lane, sg, idx;
};
struct Lane {
#if defined(__x86_64__) && !defined(TQ_UCONTEXT)
  void* sp;
#else
  ucontext_t uc;
#endif
  Kind st;
  void* site;
  int nsync;
  uint32_t ep, sep;
  Attr a;
  alignas(16) unsigned char val[16];
};
inline Lane lanes[MAXT];
inline Lane* cur;
inline unsigned char snaps[MAXT / 32][32][16];
inline char* stacks;
inline char err[512];
inline sigjmp_buf jb;
inline volatile sig_atomic_t armed;
inline void (*body)();
inline void* g_site;
inline unsigned rng;
inline uint64_t switches, rendezvous_n;
#if defined(__x86_64__) && !defined(TQ_UCONTEXT)
inline void* sched_sp;
__attribute__((naked, noinline)) inline void sw(void** save, void* to) {
  __asm__(
      "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n movq %rsp,(%rdi)\n movq "
      "%rsi,%rsp\n popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");
}
inline void to_sched() {
  Lane* me = cur;
  sw(&me->sp, sched_sp);
}
inline void resume(Lane* l) {
  cur = l;
  ++switches;
  sw(&sched_sp, l->sp);
}
inline void entry() {
  body();
  cur->st = DONE;
  to_sched();
  __builtin_trap();
}
inline void make(Lane* l, char* stk) {
  void** p = (void**)(((uintptr_t)stk + STACK) & ~15ul);
  *--p = nullptr;
  *--p = (void*)entry;
  p -= 6;
  l->sp = p;
}
#else
inline ucontext_t sched_uc;
inline void to_sched() { swapcontext(&cur->uc, &sched_uc); }
inline void resume(Lane* l) {
  cur = l;
  ++switches;
  swapcontext(&sched_uc, &l->uc);
}
inline void entry() {
  body();
  cur->st = DONE;
  to_sched();
}
inline void make(Lane* l, char* stk) {
  getcontext(&l->uc);
  l->uc.uc_stack.ss_sp = stk;
  l->uc.uc_stack.ss_size = STACK;
  l->uc.uc_link = &sched_uc;
  makecontext(&l->uc, (void (*)())entry, 0);
}
#endif
inline void rendezvous(Kind k, void* site) {
  cur->st = k;
  cur->site = site;
  ++cur->nsync;
  to_sched();
}
inline void publish(const void* v, size_t n) { memcpy(cur->val, v, n); }
inline int lane_id() { return int(cur->a.lane); }
inline const unsigned char* snap(int l) { return snaps[cur->a.sg][l & 31]; }
template <typename T>
inline T undef() {
  T r;
  memset(&r, 0xFF, sizeof r);
  return r;
}
[[noreturn]] inline void fail(const char* m, const void* where = nullptr) {
  const Attr& a = cur->a;
  snprintf(err, sizeof err, "%s [threadgroup (%u,%u,%u) thread %u simdgroup %u lane %u, code %p]", m, a.tg_pos.x,
           a.tg_pos.y, a.tg_pos.z, a.idx, a.sg, a.lane, where);
  siglongjmp(jb, 1);
}
inline void onsig(int s, siginfo_t* i, void*) {
  if (!armed) {
    signal(s, SIG_DFL);
    raise(s);
    return;
  }
  fail(s == SIGSEGV || s == SIGBUS ? "memory access outside a buffer"
       : s == SIGFPE               ? "integer division by zero"
                                   : "undefined shift, index, overflow or alignment",
       i->si_addr);
}
inline unsigned rnd() {
  rng = rng * 1664525u + 1013904223u;
  return rng >> 8;
}
inline void order(int* o, int n, int mode) {
  for (int i = 0; i < n; ++i) o[i] = mode == 1 ? n - 1 - i : i;
  if (mode >= 2)
    for (int i = n - 1; i > 0; --i) {
      int j = rnd() % (i + 1);
      int t = o[i];
      o[i] = o[j];
      o[j] = t;
    }
}
// run one threadgroup of n threads; mode 0 forward, 1 reverse, >=2 random schedules
inline void run_group(int n, int mode) {
  const int ns = (n + 31) / 32;
  int so[32], lo[32];
  for (int i = 0; i < n; ++i) {
    lanes[i].st = RUN;
    lanes[i].nsync = 0;
    lanes[i].ep = lanes[i].sep = 0;
    make(&lanes[i], stacks + size_t(i) * (STACK + 4096) + 4096);
  }
  for (;;) {
    order(so, ns, mode);
    for (int q = 0; q < ns; ++q) {
      const int s = so[q], b = s * 32, m = n - b < 32 ? n - b : 32;
      for (;;) {
        order(lo, m, mode);
        for (int j = 0; j < m; ++j)
          if (lanes[b + lo[j]].st == RUN) resume(&lanes[b + lo[j]]);
        int nsimd = 0, nbar = 0, ndone = 0;
        void* site = nullptr;
        bool same = true;
        for (int j = 0; j < m; ++j) {
          Lane& l = lanes[b + j];
          if (l.st == SIMD) {
            ++nsimd;
            if (site && site != l.site) same = false;
            site = l.site;
          } else if (l.st == TG_BARRIER)
            ++nbar;
          else
            ++ndone;
        }
        if (!nsimd) break;
        if (nsimd != m || !same) {
          for (int j = 0; j < m; ++j)
            if (lanes[b + j].st == SIMD) {
              cur = &lanes[b + j];
              break;
            }
          fail(nsimd == m ? "divergent simdgroup operations (lanes at different call sites)"
               : m < 32   ? "simdgroup operation in a partial simdgroup with missing lanes"
                          : "simdgroup operation not reached by all lanes",
               site);
        }
        if (m < 32) {
          cur = &lanes[b];
          fail("simdgroup operation in a partial simdgroup (threadgroup size is not a multiple of 32)", site);
        }
        ++rendezvous_n;
        for (int j = 0; j < 32; ++j) {
          memcpy(snaps[s][j], lanes[b + j].val, 16);
          lanes[b + j].st = RUN;
        }
      }
    }
    int nbar = 0, ndone = 0;
    void* site = nullptr;
    bool same = true;
    for (int i = 0; i < n; ++i) {
      if (lanes[i].st == TG_BARRIER) {
        ++nbar;
        if (site && site != lanes[i].site) same = false;
        site = lanes[i].site;
      } else
        ++ndone;
    }
    if (!nbar) return;
    if (ndone || !same) {
      for (int i = 0; i < n; ++i)
        if (lanes[i].st == TG_BARRIER) {
          cur = &lanes[i];
          break;
        }
      fail(ndone ? "threadgroup_barrier not reached by all threads" : "threads wait at different threadgroup_barriers",
           site);
    }
    for (int i = 0; i < n; ++i) {
      lanes[i].st = RUN;
      ++lanes[i].ep;
    }
  }
}
}  // namespace emu
// libgcc 12 has no bfloat16 conversion helper; clang calls it for __bf16 arithmetic
extern "C" __attribute__((weak)) __bf16 __truncsfbf2(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  uint16_t h =
      (u & 0x7fffffffu) > 0x7f800000u ? uint16_t((u >> 16) | 0x40) : uint16_t((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  __bf16 r;
  memcpy(&r, &h, 2);
  return r;
}
