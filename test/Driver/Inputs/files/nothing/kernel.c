// Right for no workload: what a search does after its verdict is looked at.
void fastk_kernel(const float *a, const float *b, const float *c, float *out, void *workspace) {
  out[0] = 0;
}
