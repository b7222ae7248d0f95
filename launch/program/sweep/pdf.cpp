#include "launch/program/sweep/pdf.h"

#include <fmt/format.h>

#include <filesystem>

#include "kernels/error.h"
#include "launch/program/sweep/child.h"

namespace penstock {

std::string write_pdfs(const std::string& directory, const std::vector<SweepPlot>& plots) {
  constexpr int kMostMs = 30'000;  // of a picture, which takes a tenth of a second
  for (const SweepPlot& plot : plots) {
    const std::filesystem::path svg = directory + "/" + plot.file;
    std::filesystem::path pdf = svg;
    pdf.replace_extension(".pdf");
    try {
      Child child({"rsvg-convert", "-f", "pdf", "-o", pdf.string() + ".new", svg.string()},
                  "/dev/null");
      if (!child.ends_within(kMostMs) || child.exit_code() != 0) {
        return fmt::format("rsvg-convert does not make a PDF of {}", svg.string());
      }
    } catch (const Error&) {
      return "There are no PDFs of the plots, since rsvg-convert (librsvg2-bin) is not installed";
    }
    std::error_code error;
    std::filesystem::rename(pdf.string() + ".new", pdf, error);
    if (error) return fmt::format("{} cannot be written: {}", pdf.string(), error.message());
  }
  return "The plots are there as PDF, too";
}

}  // namespace penstock
