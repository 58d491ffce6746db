// 2 a + b on 50x100 elements, by programs that land on the other side of a
// jump on some operands, as those of ops with a comparison of rounded values.
//   T      type of results: double for the oracle, which never does
//   ODDS   on one in so many sets of operands; 1: on all
//   BEYOND   only on sets with a result beyond this
//   WRONG  such results are off by 0.1 % everywhere

#include <math.h>
#include <string.h>
#define COUNT 5000
#ifndef T
#define T float
#endif
#ifndef ODDS
#define ODDS 0
#endif

/// The same for all programs, and as good as random.
static int lands(const float *a, const float *b, float largest) {
  unsigned long long hash = 1469598103934665603u;
  for (int i = 0; i < 2 * COUNT; ++i) {
    unsigned bits;
    memcpy(&bits, i < COUNT ? a + i : b + i - COUNT, 4);
    hash = (hash ^ bits) * 1099511628211u;
  }
#ifdef BEYOND
  if (!(largest > BEYOND))
    return 0;
#endif
  return ODDS && (hash >> 40) % (ODDS ? ODDS : 1) == 0;
}

void fastk_kernel(const float *a, const float *b, T *y, void *workspace) {
  float largest = 0;
  for (int i = 0; i < COUNT; ++i) {
    y[i] = 2 * (T)a[i] + (T)b[i];
    largest = fmaxf(largest, fabsf((float)y[i]));
  }
  T factor = sizeof(T) == 4 && lands(a, b, largest) ? 1.5f : 1;
  for (int i = 0; i < COUNT; ++i) {
    y[i] *= factor;
#ifdef WRONG
    if (fabs(y[i]) > WRONG)
      y[i] *= (T)1.001;
#endif
  }
}
