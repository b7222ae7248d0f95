// launch/program/sweep/pdf.h -- the plots of a sweep as PDF, for papers, where a converter is
// installed.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/sweep/plots/curves.h"

namespace penstock {

// Makes a PDF beside each of the SVG files of the plots in `directory` by rsvg-convert. Returns
// what to tell the user: where it is not installed, or which picture it does not take, that too; it
// never throws, since the pictures are there.
[[nodiscard]] std::string write_pdfs(const std::string& directory,
                                     const std::vector<SweepPlot>& plots);

}  // namespace penstock
