#!/usr/bin/env bash
# A bundle's activate.sh unpacks where nobody else could have put something to be run. It once took what lay in
# /tmp/penstock-libraries-UID, a name that anybody can guess.
set -euo pipefail
root=$1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
fail() { echo "activate_test: $*" >&2; exit 1; }

mkdir -p "$here/bundle" "$here/package/DEBIAN" "$here/package/usr/bin" "$here/package/usr/lib/x86_64-linux-gnu" "$here/home"
printf 'Package: p\nVersion: 1\nArchitecture: all\nMaintainer: m\nDescription: d\n' >"$here/package/DEBIAN/control"
printf '#!/bin/sh\necho ours\n' >"$here/package/usr/bin/tool.openmpi"
chmod 755 "$here/package/usr/bin/tool.openmpi"
dpkg-deb --build "$here/package" "$here/bundle/p.deb" >/dev/null
cp "$root/launch/activate.sh" "$here/bundle/"

# activate VARIABLE=value...: what `tool` says in a shell that has sourced it.
activate() { env -u PENSTOCK_LIBRARIES -u XDG_CACHE_HOME HOME="$here/home" "$@" bash -c ". '$here/bundle/activate.sh' && tool" 2>&1; }

[ "$(activate TMPDIR="$here")" = ours ] || fail "it does not find what it unpacks"
[ -O "$here/home/.cache/penstock-libraries/.stamp" ] || fail "it unpacks elsewhere"
[ "$(stat -c %a "$here/home/.cache/penstock-libraries")" = 755 ] || [ "$(stat -c %a "$here/home/.cache/penstock-libraries")" = 700 ] ||
  fail "others may write there"
[ "$(activate)" = ours ] || fail "it does not find what it has unpacked"

# Made ready by somebody: with the stamp of this bundle, and another tool.
cp -r "$here/home/.cache/penstock-libraries" "$here/trap"
printf '#!/bin/sh\necho theirs\n' >"$here/trap/usr/bin/tool"
chmod 777 "$here/trap"
if said=$(activate PENSTOCK_LIBRARIES="$here/trap"); then fail "a folder that others may write to: $said"; fi
chmod 755 "$here/trap"
ln -s "$here/trap" "$here/link"
if said=$(activate PENSTOCK_LIBRARIES="$here/link"); then fail "a link: $said"; fi
mkdir "$here/mine" && echo precious >"$here/mine/thesis"
if said=$(activate PENSTOCK_LIBRARIES="$here/mine"); then fail "a folder with other files: $said"; fi
[ -e "$here/mine/thesis" ] || fail "it deleted the files of others"
