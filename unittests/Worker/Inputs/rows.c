// An expensive elementwise operation, y = p(x) with p of degree 30, on enough
// elements that drawing them anew takes a while.
//   T     float, or double for the oracle
//   KEEPS works out only what has changed since the last call on an address
//   FORGETS  all of it in every fourth call, so that calls on new operands are
//         not the only slow ones

#include <string.h>

#ifndef T
#define T float
#endif
#define COUNT (1024 * 300)

static T p(float x) {
  T t = (T)0.5 * x, sum = 0;
  for (int k = 0; k < 30; ++k) {
    sum = sum * t * (T)0.015625 + (T)(1 - k % 3);
    __asm__ volatile("" : "+x"(sum));
  }
  return sum + t;
}

void fastk_kernel(const float *x, T *y, void *workspace) {
#ifdef KEEPS
  static struct {
    const float *address;
    float x[COUNT];
    T y[COUNT];
  } kept[8];
  int at = 0;
  while (at < 7 && kept[at].address && kept[at].address != x)
    ++at;
  int known = kept[at].address == x;
#ifdef FORGETS
  static int calls;
  if (calls++ % 4 == 0)
    known = 0;
#endif
  kept[at].address = x;
  for (int i = 0; i < COUNT; ++i) {
    if (!known || kept[at].x[i] != x[i]) {
      kept[at].x[i] = x[i];
      kept[at].y[i] = p(x[i]);
    }
    y[i] = kept[at].y[i];
  }
#else
  for (int i = 0; i < COUNT; ++i)
    y[i] = p(x[i]);
#endif
}
