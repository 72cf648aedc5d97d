// Appended to a kernel's text, with the call of the kernel (its buffers, this thread's attributes) put in its place.
namespace emu {
static void** buffers;
}
extern "C" char __start_tqshm __attribute__((weak)), __stop_tqshm __attribute__((weak));
static void tq_body() {
  const emu::Attr& a = emu::cur->a;
  (void)a;
  CALL
}
extern "C" long tq_shared_bytes() { return &__stop_tqshm - &__start_tqshm; }
extern "C" const char* tq_run(void** bufs, const unsigned* grid, const unsigned* group, int mode, unsigned seed,
                              int nout, void** low, void** high, char* stk) {
  using namespace emu;
  buffers = bufs;
  body = tq_body;
  err[0] = 0;
  rng = seed;
  if (!stacks) {
    stacks = stk;
    static char alternative[65536];
    stack_t ss{};
    ss.ss_sp = alternative;
    ss.ss_size = sizeof alternative;
    sigaltstack(&ss, nullptr);
  }
  struct sigaction action{}, saved[4];
  const int signals[4] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  action.sa_sigaction = onsig;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int i = 0; i < 4; ++i) sigaction(signals[i], &action, &saved[i]);
  armed = 1;
  cells = (Cell*)mmap(nullptr, CELLS * sizeof(Cell), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  nreg = 0;
  wg_serial = 0;
  arrivals = 0;
  memset(arrived, 0, sizeof arrived);
  lo_[nreg] = (uintptr_t)&__start_tqshm;
  hi_[nreg] = (uintptr_t)&__stop_tqshm;
  shared_[nreg++] = true;
  for (int i = 0; i < nout; ++i) {
    lo_[nreg] = (uintptr_t)low[i];
    hi_[nreg] = (uintptr_t)high[i];
    shared_[nreg++] = false;
  }
  if (!sigsetjmp(jb, 1)) {
    unsigned count[3];
    for (int i = 0; i < 3; ++i) count[i] = (grid[i] + group[i] - 1) / group[i];
    for (unsigned z = 0; z < count[2]; ++z)
      for (unsigned y = 0; y < count[1]; ++y)
        for (unsigned x = 0; x < count[0]; ++x) {
          const int n = int(group[0]);
          for (int i = 0; i < n; ++i) {
            const unsigned t = unsigned(i);
            lanes[i].a = {{t, 0, 0}, {x, y, z}, {count[0], count[1], count[2]}, t & 31u, t >> 5, t};
          }
          ++wg_serial;
          group_size = uint32_t(n);
          memset(written, 0, sizeof written);
          opened = taken = 0;
          if (&__start_tqshm)
            memset(&__start_tqshm, 0xFF, &__stop_tqshm - &__start_tqshm);  // nobody zeroes threadgroup memory
          run_group(n, mode);
        }
  }
  armed = 0;
  munmap(cells, CELLS * sizeof(Cell));
  for (int i = 0; i < 4; ++i) sigaction(signals[i], &saved[i], nullptr);
  return err[0] ? err : nullptr;
}
