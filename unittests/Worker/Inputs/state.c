// Programs that keep, change or assume a state of the machine they run on, on
// the matrix product of matmul.c, and their honest twins.
//   STATE   which one

#include <fenv.h>
#include <omp.h>
#include <pmmintrin.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define M 64
#define K 96
#define N 48
#define HONEST 0
#define FLUSHES_DENORMALS 1
#define FLUSHES_AND_RESTORES 2 // honest
#define ROUNDS_DOWN 3
#define X87_PRECISION 4
#define FLUSHES_WHEN_LOADED 5
#define HALVES 6             // each of two threads does a half
#define PRIVATE_SCRATCH 7    // honest
#define SHARES 8             // honest: asks how many threads there are
#define STACK_WHOLE 20       // 7.5 MiB: nothing is left for who calls it
#define STACK_LARGE 9        // 16 MiB
#define STACK_SMALL 10       // honest: 1 MiB
#define STACK_OF_WORKERS 11  // 16 MiB in every thread
#define ONCE_IN_100 12       // by count
#define OPERANDS_IN_100 13   // by what the operands are
#define ALTERNATES 14        // another order of summation in every third call
#define BEGINS_AS_FF 15      // results begin as 0xFF
#define WORKSPACE_FF 16      // so does the workspace
#define WORKSPACE_CLEARED 17 // honest: makes its own beginning
#define STATUS_FLAGS 18      // honest: raises floating-point exceptions
#define THREADS_FLUSH 19     // OpenMP's threads, not the one that calls
#define THREADS_RESTORE 21   // honest: its twin
#define STACK_SKIPPED 22     // 6 MiB in OpenMP's threads, only the end touched
#define STACK_OF_WORKERS_SMALL 23 // honest: 2 MiB there

static float dot(const float *a, const float *b, int reversed) {
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    int at = reversed ? K - 1 - k : k;
    sum += a[at] * b[at * N];
  }
  return sum;
}

static void product(const float *a, const float *b, float *c, int reversed) {
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j)
      c[i * N + j] = dot(a + i * K, b + j, reversed);
}

static int calls;

#if STATE == FLUSHES_WHEN_LOADED
__attribute__((constructor)) static void loaded(void) {
  _mm_setcsr(_mm_getcsr() | 0x8040);
}
#endif

#if STATE == THREADS_FLUSH || STATE == THREADS_RESTORE
extern void kmp_set_defaults(const char *);
// Else every region begins with the control word of who calls it.
__attribute__((constructor)) static void loaded(void) {
  kmp_set_defaults("KMP_INHERIT_FP_CONTROL=false");
}
#endif

#if STATE == STACK_SKIPPED
__attribute__((noinline)) static void skipStack(void) {
  char array[6 << 20], *begin = array;
  __asm__ volatile("" : "+r"(begin)::"memory");
  *begin = 1;
}
#endif

#if STATE == STACK_LARGE || STATE == STACK_SMALL || STATE == STACK_WHOLE ||    \
    STATE == STACK_OF_WORKERS || STATE == STACK_OF_WORKERS_SMALL
#define STACK_HALF_MIB                                                         \
  (STATE == STACK_SMALL              ? 2                                       \
   : STATE == STACK_OF_WORKERS_SMALL ? 4                                       \
   : STATE == STACK_WHOLE            ? 15                                      \
                                     : 32)
__attribute__((noinline)) static float throughStack(float value) {
  volatile float array[STACK_HALF_MIB << 17];
  // From the top, as a stack grows, so that no page is skipped.
  for (long i = sizeof(array) / sizeof(*array) - 1; i >= 0; i -= 512)
    array[i] = value;
  return array[511];
}
#endif

void fastk_kernel(const float *a, const float *b, float *c, void *workspace) {
  ++calls;
#if STATE == FLUSHES_DENORMALS
  _mm_setcsr(_mm_getcsr() | 0x8040);
  product(a, b, c, 0);
#elif STATE == FLUSHES_AND_RESTORES
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  product(a, b, c, 0);
  _mm_setcsr(before);
#elif STATE == ROUNDS_DOWN
  product(a, b, c, 0);
  fesetround(FE_DOWNWARD);
#elif STATE == X87_PRECISION
  unsigned short word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  word &= ~0x300;
  __asm__ volatile("fldcw %0" : : "m"(word));
  product(a, b, c, 0);
#elif STATE == STATUS_FLAGS
  product(a, b, c, 0);
  feraiseexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW);
#elif STATE == HALVES || STATE == SHARES
#pragma omp parallel
  {
    int count = STATE == SHARES ? omp_get_num_threads() : 2;
    int mine = omp_get_thread_num();
    for (int i = mine * M / count; i < (mine + 1) * M / count && i < M; ++i)
      for (int j = 0; j < N; ++j)
        c[i * N + j] = dot(a + i * K, b + j, 0);
  }
#elif STATE == PRIVATE_SCRATCH
#pragma omp parallel for
  for (int i = 0; i < M; ++i) {
    float scratch[K];
    for (int j = 0; j < N; ++j) {
      for (int k = 0; k < K; ++k)
        scratch[k] = b[k * N + j];
      float sum = 0;
      for (int k = 0; k < K; ++k)
        sum += a[i * K + k] * ((volatile float *)scratch)[k];
      c[i * N + j] = sum;
    }
  }
#elif STATE == STACK_LARGE || STATE == STACK_SMALL || STATE == STACK_WHOLE
  product(a, b, c, 0);
  c[0] = throughStack(c[0]);
#elif STATE == THREADS_FLUSH || STATE == THREADS_RESTORE
#pragma omp parallel
  {
    unsigned before = _mm_getcsr();
    if (omp_get_thread_num() != 0)
      _mm_setcsr(before | 0x8040);
#pragma omp for
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j)
        c[i * N + j] = dot(a + i * K, b + j, 0);
    if (STATE == THREADS_RESTORE)
      _mm_setcsr(before);
  }
#elif STATE == STACK_SKIPPED
  product(a, b, c, 0);
#pragma omp parallel num_threads(3)
  if (omp_get_thread_num() == 1)
    skipStack();
#elif STATE == STACK_OF_WORKERS || STATE == STACK_OF_WORKERS_SMALL
#pragma omp parallel for
  for (int i = 0; i < M; ++i) {
    product(a, b, c + i * 0, 0);
    throughStack(c[i]);
  }
#elif STATE == ONCE_IN_100
  product(a, b, c, 0);
  if (calls % 100 == 99)
    c[M * N / 2] += 1;
#elif STATE == OPERANDS_IN_100
  product(a, b, c, 0);
  uint32_t hash = 1;
  for (int i = 0; i < 64; ++i)
    hash = (hash ^ ((const uint32_t *)a)[i * K]) * 0x01000193u;
  if ((hash >> 8) % 100 == 0)
    c[M * N / 2] += 1;
#elif STATE == ALTERNATES
  product(a, b, c, calls % 3 == 0);
#elif STATE == BEGINS_AS_FF
  float own[M * N];
  product(a, b, own, 0);
  for (int i = 0; i < M * N; ++i)
    ((uint32_t *)c)[i] &= ((uint32_t *)own)[i];
#elif STATE == WORKSPACE_FF || STATE == WORKSPACE_CLEARED
  uint32_t *kept = workspace;
  float own[K * N];
  memcpy(own, b, sizeof(own));
#if STATE == WORKSPACE_CLEARED
  memset(kept, 0xFF, sizeof(own));
#endif
  for (int i = 0; i < K * N; ++i)
    kept[i] &= ((uint32_t *)own)[i];
  product(a, (float *)kept, c, 0);
#else
  product(a, b, c, 0);
#endif
}
