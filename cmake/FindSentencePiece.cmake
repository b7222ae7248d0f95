# SentencePiece::sentencepiece, which encodes, and SentencePiece::train beside it, from SentencePiece_ROOT or the system. The
# library brings a pkg-config file alone, and a machine that compiles need not have pkg-config.
find_path(SENTENCEPIECE_INCLUDE_DIR sentencepiece_processor.h)
find_library(SENTENCEPIECE_LIBRARY sentencepiece)
find_library(SENTENCEPIECE_TRAIN_LIBRARY sentencepiece_train)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SentencePiece REQUIRED_VARS SENTENCEPIECE_LIBRARY SENTENCEPIECE_TRAIN_LIBRARY SENTENCEPIECE_INCLUDE_DIR)
if(SentencePiece_FOUND AND NOT TARGET SentencePiece::sentencepiece)
  add_library(SentencePiece::sentencepiece UNKNOWN IMPORTED)
  set_target_properties(SentencePiece::sentencepiece PROPERTIES IMPORTED_LOCATION ${SENTENCEPIECE_LIBRARY}
                                                                INTERFACE_INCLUDE_DIRECTORIES ${SENTENCEPIECE_INCLUDE_DIR})
  add_library(SentencePiece::train UNKNOWN IMPORTED)
  set_target_properties(SentencePiece::train PROPERTIES IMPORTED_LOCATION ${SENTENCEPIECE_TRAIN_LIBRARY} INTERFACE_LINK_LIBRARIES
                                                                                                         SentencePiece::sentencepiece)
endif()
mark_as_advanced(SENTENCEPIECE_INCLUDE_DIR SENTENCEPIECE_LIBRARY SENTENCEPIECE_TRAIN_LIBRARY)
