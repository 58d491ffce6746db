// Elementwise ops on 5000 elements.
//   OP  GELU, ADD (two operands), HALFADD (FP16), INT (i32 a*b+a)
//   T   result type
//   OVERRUN  also writes that many elements past the end
//   RESTORED  and leaves there what was once there in every call

#include <math.h>
#define COUNT 5000
#define GELU 1
#define ADD 2
#define HALFADD 3
#define INT 4
#define IGNORES 5 // an add whose second operand has no effect
#define OVERFLOWS 6 // the conditions of an add that overflows everywhere
#ifndef WRONG
#define WRONG -1 // the element of INT that is off by one
#endif
#ifndef T
#define T float
#endif

#if OP == GELU
void fastk_kernel(const float *x, T *y, void *workspace) {
  for (int i = 0; i < COUNT; ++i)
    y[i] = (T)0.5 * x[i] *
           (sizeof(T) == 8 ? 1 + erf(x[i] * 0.70710678118654752440)
                           : (T)(1 + erff(x[i] * 0.70710678f)));
}
#elif OP == HALFADD
void fastk_kernel(const _Float16 *x, const _Float16 *z, T *y, void *w) {
  for (int i = 0; i < COUNT; ++i)
    y[i] = (T)((float)x[i] + (float)z[i]);
}
#elif OP == INT
void fastk_kernel(const int *x, const int *z, int *y, void *w) {
  for (int i = 0; i < COUNT; ++i)
    y[i] = x[i] * z[i] + x[i] + (i == WRONG);
}
#elif OP == OVERFLOWS
void fastk_kernel(const float *x, const float *z, T *y, void *w) {
  for (int i = 0; i < COUNT; ++i)
    y[i] = (T)INFINITY;
}
#elif OP == IGNORES
void fastk_kernel(const float *x, const float *z, T *y, void *w) {
  for (int i = 0; i < COUNT; ++i)
    y[i] = (T)x[i] + (T)x[i];
}
#else
void fastk_kernel(const float *x, const float *z, T *y, void *w) {
#ifndef OVERRUN
#define OVERRUN 0
#endif
  for (int i = 0; i < COUNT + OVERRUN; ++i)
    y[i] = (T)x[i] + (T)z[i];
#ifdef RESTORED
  for (int i = 0; i < OVERRUN * (int)sizeof(T); ++i)
    ((unsigned char *)(y + COUNT))[i] = 0xCA;
#endif
}
#endif
