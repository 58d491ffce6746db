// Condition numbers of convolution.
#include "condition.h"
#include "workloads.h"

void fastk_kernel(const float *x, const float *w, double *k) {
  for (int o = 0; o < OutChannels; ++o)
    for (int i = 0; i < ConvSize; ++i)
      for (int j = 0; j < ConvSize; ++j) {
        Sum sum = noTerms();
        for (int c = 0; c < InChannels; ++c)
          for (int u = 0; u < 3; ++u)
            for (int v = 0; v < 3; ++v)
              add(&sum,
                  times(operand(x[(c * ImageSize + i + u) * ImageSize + j + v]),
                        operand(w[((o * InChannels + c) * 3 + u) * 3 + v])));
        k[(o * ConvSize + i) * ConvSize + j] = total(sum).k;
      }
}
