# The one place that knows how tests start ranks: sets PENSTOCK_RANKS to a script, ranks.sh of the build folder, that does it with the
# mpiexec that find_package(MPI) has found, and PENSTOCK_MPI_ENVIRONMENT to what tests that start ranks have set.
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version ERROR_VARIABLE version)
set(PENSTOCK_QUIET)
if(version MATCHES "Open MPI|OpenRTE")
  if(NOT version MATCHES "Open MPI\\) [5-9]") # which know no such option
    set(PENSTOCK_QUIET -q)
  endif()
  set(PENSTOCK_UNBOUND "--oversubscribe --bind-to none")
else() # Hydra: MPICH's, which binds nothing, or Intel MPI's, which does unless this variable says otherwise
  set(PENSTOCK_UNBOUND "-genv I_MPI_PIN 0")
endif()
set(PENSTOCK_RANKS ${PROJECT_BINARY_DIR}/ranks.sh)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ranks.sh.in ${PENSTOCK_RANKS} @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)

set(PENSTOCK_MPI_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_pml=ob1  # on one host: to look for networks takes a third of a small run's time
    OMPI_MCA_btl=self,vader
    XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/test-cache  # what programs find out once is not left at home
    OMPI_MCA_odls_base_sigkill_timeout=0  # of the ranks of a job that has failed; mpirun's second or two add up
    ASAN_OPTIONS=detect_leaks=0)  # Open MPI's own leaks; the unit tests look for ours
