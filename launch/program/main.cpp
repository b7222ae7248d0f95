#include "launch/program/program.h"

int main(int argc, char** argv) {
  return penstock::run_program(argc, argv, penstock::built_in_models());
}
