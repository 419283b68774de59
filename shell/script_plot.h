// berth.plot{...}: a script's numbers as a chart.
#pragma once

#include <string>

#include "engine/lua/value.h"
#include "shell/chart.h"

namespace berth {

// {title, x, y = labels, series = {{name, x = {...}, y = {...}}, ...}}; x rises.
Result<std::string> draw_script_plot(const ScriptValue& request, const ChartStyle& style);

}  // namespace berth
