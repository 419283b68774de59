#include "shell/chargeback_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "shell/cells.h"

namespace berth {

namespace {

constexpr std::string_view kStyle =
    "body{font:14px/1.4 sans-serif;margin:2em;color:#222}table{border-collapse:collapse;margin:1em 0}"
    "th,td{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:left}td.n,th.n{text-align:right}"
    ".bar{width:40em;height:1em;white-space:nowrap}.bar i{display:inline-block;height:1em}"
    ".own{background:#2a6f97}.lent{background:#61a5c2}.idle{background:#d9e3ea}.borrowed{background:#e07a2f}"
    "p{margin:.3em 0}";

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string html_table(const ResultTable& table) {
  std::string text = "<table>\n<tr>";
  std::vector<bool> numbers;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    numbers.push_back(std::ranges::any_of(table.rows, [&](const auto& row) { return is_number(row[c]); }));
    text += fmt::format("<th{}>{}</th>", numbers[c] ? " class=\"n\"" : "", escape_html(table.columns[c].name));
  }
  text += "</tr>\n";
  for (const std::vector<Cell>& row : table.rows) {
    text += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      text += fmt::format("<td{}>{}</td>", numbers[c] ? " class=\"n\"" : "",
                          escape_html(print_cell(row[c], "", table.columns[c].decimals)));
    }
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

std::string bar_part(std::string_view kind, std::int64_t amount, std::int64_t most) {
  if (amount <= 0) return {};
  return fmt::format("<i class=\"{}\" style=\"width:{:.2f}%\" title=\"{:.2f}\"></i>", kind,
                     100.0 * static_cast<double>(amount) / static_cast<double>(most),
                     static_cast<double>(amount) / 3.6e6);
}

std::string bars(const std::vector<AccountLine>& lines) {
  std::int64_t most = 1;
  for (const AccountLine& line : lines) most = std::max(most, line.sums.time.owned + line.sums.time.borrowed);
  std::string text =
      "<p><i class=\"own\">&emsp;</i> own quota used <i class=\"lent\">&emsp;</i> lent <i class=\"idle\">&emsp;</i> "
      "idle "
      "<i class=\"borrowed\">&emsp;</i> borrowed</p>\n<table>\n";
  for (const AccountLine& line : lines) {
    std::string name = escape_html(line.queue);
    if (!line.device_model.empty()) name += " " + escape_html(line.device_model);
    if (line.day > Seconds(0)) name = print_time(line.day).substr(0, 10) + " " + name;
    text += fmt::format("<tr><td>{}</td><td><div class=\"bar\">{}{}{}{}</div></td></tr>\n", name,
                        bar_part("own", line.sums.time.used_own, most), bar_part("lent", line.sums.time.lent, most),
                        bar_part("idle", line.sums.idle(), most), bar_part("borrowed", line.sums.time.borrowed, most));
  }
  return text + "</table>\n";
}

}  // namespace

std::string chargeback_page(const ChargebackPage& page) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{0}</title><style>{1}</style></head>\n"
      "<body>\n<h1>{0}</h1>\n",
      escape_html(page.title), kStyle);
  text += html_table(page.table) + bars(page.lines);
  if (!page.losses.rows.empty()) text += "<h2>Lost to evictions</h2>\n" + html_table(page.losses);
  for (const std::string& note : page.notes) text += fmt::format("<p>{}</p>\n", escape_html(note));
  return text + "</body>\n</html>\n";
}

}  // namespace berth
