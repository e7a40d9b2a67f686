// What the report uses of ECharts: a treemap with tooltips, drawn on a canvas.
import { init, use } from "echarts/core";
import { TreemapChart } from "echarts/charts";
import { TooltipComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

use([TreemapChart, TooltipComponent, CanvasRenderer]);
export { init };
