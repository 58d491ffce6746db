// Right for no workload: what a search does after its verdict is looked at.
void fastk_kernel(const float *in, float *out, void *workspace) {
  out[0] = 0;
}
