# Part of a bundle, see launch/bundle.sh. To be sourced, by bash: unpacks the packages beside it, once, and makes compiler, CMake,
# loader and mpirun find them.
# shellcheck shell=bash
penstock_bundle=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
penstock_there=${PENSTOCK_LIBRARIES:-${XDG_CACHE_HOME:-${HOME:-$penstock_bundle}/.cache}/penstock-libraries}

# Programs in this folder are run, so it is not trusted if somebody else made it, can write to it, or put a link in its place.
penstock_trusted() {
  mkdir -p "$(dirname "$penstock_there")" || return 1
  [ -d "$penstock_there" ] || mkdir -m 700 "$penstock_there" || return 1
  if [ -L "$penstock_there" ] || [ ! -O "$penstock_there" ] || [ -n "$(find "$penstock_there" -maxdepth 0 -perm /022)" ]; then
    echo "activate.sh: $penstock_there is a link, not yours, or others may write to it: remove it, or name another by PENSTOCK_LIBRARIES" >&2
    return 1
  fi
  if [ ! -e "$penstock_there/.stamp" ] && [ -n "$(ls -A "$penstock_there")" ]; then
    echo "activate.sh: $penstock_there holds other files: name another folder by PENSTOCK_LIBRARIES" >&2
    return 1
  fi
}

penstock_unpack() {
  find "$penstock_there" -mindepth 1 -delete || return 1
  echo unfinished >"$penstock_there/.stamp"
  local deb
  for deb in "$penstock_bundle"/*.deb; do dpkg-deb --extract "$deb" "$penstock_there" || return 1; done
  chmod go-w "$penstock_there"  # a package may have set it as it is in a system
  # These links are made by update-alternatives on an installed system.
  for deb in "$penstock_there"/usr/bin/*.openmpi; do ln -sf "${deb##*/}" "${deb%.openmpi}"; done
  for deb in mpirun mpiexec; do ln -sf orterun "$penstock_there/usr/bin/$deb"; done
  echo "$penstock_stamp" >"$penstock_there/.stamp"
}

penstock_trusted || return 3
# shellcheck disable=SC2012
penstock_stamp=$(cd "$penstock_bundle" && ls -l --time-style=+ -- *.deb | cksum)
if [ "$(cat "$penstock_there/.stamp" 2>/dev/null)" != "$penstock_stamp" ]; then penstock_unpack || return 3; fi
penstock_usr=$penstock_there/usr
penstock_lib=$(echo "$penstock_usr"/lib/*-linux-gnu)
export PATH="$penstock_usr/bin:$PATH"
export LD_LIBRARY_PATH="$penstock_lib:$penstock_there/${penstock_lib#"$penstock_usr/"}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LIBRARY_PATH="$penstock_lib${LIBRARY_PATH:+:$LIBRARY_PATH}"
export CPATH="$penstock_usr/include:${penstock_usr}/include/${penstock_lib##*/}${CPATH:+:$CPATH}"
export CMAKE_PREFIX_PATH="$penstock_usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
if [ -d "$penstock_bundle/include" ]; then export CUDNN_FRONTEND_ROOT="$penstock_bundle"; fi
# Open MPI was made for /usr, and would look for fabrics, for ssh and for a batch system.
export OPAL_PREFIX="$penstock_usr" OPAL_LIBDIR="$penstock_lib/openmpi/lib"
export OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1
export OMPI_MCA_mca_base_component_show_load_errors=0 PMIX_MCA_pcompress_base_silence_warning=1
unset -f penstock_trusted penstock_unpack
unset penstock_bundle penstock_stamp penstock_usr penstock_lib penstock_there
