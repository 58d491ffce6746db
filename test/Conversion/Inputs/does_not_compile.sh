#!/bin/sh
# does_not_compile.sh SAMPLE_BANK BANK: a bank whose winner's program is refused by the compiler.
set -e
rm -rf "$2"
mkdir -p "$2"
cp -r "$1/." "$2"
chmod -R u+w "$2"
cd "$2"/host/*
printf 'int state;\nvoid fastk_kernel(const float *a, float *b, void *w) { b[0] = a[0] + state++; }\n' > kernel.c
python3 - <<'PY'
import hashlib, re
text = open("lowering.mlir").read()
digest = hashlib.sha256(open("kernel.c", "rb").read()).hexdigest()
text = re.sub(r'digest = "\w+"', f'digest = "{digest}"', text)
field = lambda name: re.search(name + r' = "([^"]*)"', text).group(1)
sealed = "\n".join([field("key"), field("target"), "ieee", "c", "0", digest]) + "\n"
text = re.sub(r'seal = "\w+"', f'seal = "{hashlib.sha256(sealed.encode()).hexdigest()}"', text)
open("lowering.mlir", "w").write(text)
PY
