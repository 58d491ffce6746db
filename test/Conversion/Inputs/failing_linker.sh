#!/bin/sh
# In the place of a linker: says the names that it was given, and fails.
for word; do
  [ "$last" = -o ] && out=$word
  case $word in *.o) object=$word ;; esac
  last=$word
done
echo "$out: $object:(forward): no such symbol"
exit 1
