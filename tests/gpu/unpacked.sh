# Part of a pack, see tests/gpu/pack.py. To be sourced, by bash: makes the loader and mpirun find what lies beside it.
# shellcheck shell=bash
penstock_pack=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
penstock_lib=$(echo "$penstock_pack"/usr/lib/*-linux-gnu)
export PATH="$penstock_pack/usr/bin:$PATH"
export LD_LIBRARY_PATH="$penstock_lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# Open MPI was made for /usr, and would look for fabrics, for ssh and for a batch system.
export OPAL_PREFIX="$penstock_pack/usr" OPAL_LIBDIR="$penstock_lib/openmpi/lib"
export OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1
export OMPI_MCA_mca_base_component_show_load_errors=0 PMIX_MCA_pcompress_base_silence_warning=1
unset penstock_pack penstock_lib
