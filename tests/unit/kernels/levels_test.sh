#!/bin/sh
# tests/unit/kernels/levels_test.sh PROGRAM -- of libraries for x86-64-v2, v3 and v4 the loader takes the best that this processor can
# run and nobody has ruled out, and an older loader the first.
set -u
program=$1

# expect LEVEL COMMAND...
expect() {
  level=$1
  shift
  said=$("$@" 2>&1)
  [ "$said" = "$level" ] || { echo "levels_test: '$*' says '$said', not '$level'"; exit 1; }
}

loader=$(ldd "$program" | sed -n 's|^[[:space:]]*\(/[^ ]*/ld-[^ ]*\) .*|\1|p')
if ! "$loader" --help 2>/dev/null | grep -q 'glibc-hwcaps-mask'; then
  expect x86-64-v2 "$program"
  echo "the loader here knows no levels; passed"
  exit 0
fi
best=x86-64-v2
for level in x86-64-v3 x86-64-v4; do
  if "$loader" --help | grep -q "^ *$level (supported"; then best=$level; fi
done
expect "$best" "$program"
# The v2 beside which the others lie, too, is looked for by no name.
expect x86-64-v2 "$loader" --glibc-hwcaps-mask none "$program"
expect x86-64-v2 env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX512F "$program"
if [ "$best" != x86-64-v2 ]; then
  expect x86-64-v3 "$loader" --glibc-hwcaps-mask x86-64-v3 "$program"
  # What docs/install.md tells to do.
  expect x86-64-v3 env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F "$program"
fi
echo "passed, $best"
