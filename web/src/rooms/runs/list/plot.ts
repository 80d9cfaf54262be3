/** The plot itself, on a canvas. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Point } from "../data/points";

export interface Plot {
  end(): void;
}

const HEIGHT = 180;

/**
 * Draws the points, a place for each run: runs come in bursts, and a true time axis would put an afternoon's runs on top
 * of each other. `joined` draws a line; without it the runs are of different suites and a line would say nothing.
 * Where nothing can be drawn on (a browser may refuse a canvas), there is no plot: the words and the table say the same.
 */
export function draw(
  place: HTMLElement,
  points: readonly Point[],
  joined: boolean,
  onPoint: (index: number | null) => void,
): Plot | null {
  if (!document.createElement("canvas").getContext("2d")) return null;
  let plot = make(place, points, joined, onPoint);
  const fit = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }));
  fit.observe(place);
  // A canvas keeps the colours it was drawn with.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const redraw = () => {
    plot.destroy();
    plot = make(place, points, joined, onPoint);
  };
  dark.addEventListener("change", redraw);
  return {
    end: () => {
      dark.removeEventListener("change", redraw);
      fit.disconnect();
      plot.destroy();
    },
  };
}

function make(
  place: HTMLElement,
  points: readonly Point[],
  joined: boolean,
  onPoint: (index: number | null) => void,
): uPlot {
  const colours = coloursOf(place);
  const font = `12px ${getComputedStyle(place).fontFamily}`;
  const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
  const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const sameDay = day.format(new Date(points[0]?.at ?? 0)) === day.format(new Date(points.at(-1)?.at ?? 0));
  const format = sameDay ? time : day;
  const label = (index: number) => {
    const point = Number.isInteger(index) ? points[index] : undefined;
    return point ? format.format(new Date(point.at)) : "";
  };
  const axis = { stroke: colours.text, font, ticks: { show: false } };
  const options: uPlot.Options = {
    width: place.clientWidth || 600,
    height: HEIGHT,
    legend: { show: false },
    padding: [10, 12, 0, 0],
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 10 } },
    scales: { x: { time: false, range: () => [-0.5, points.length - 0.5] }, y: { range: [0, 1] } },
    axes: [
      {
        ...axis,
        space: 80,
        size: 30,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500],
        values: (_, at) => at.map(label),
        grid: { show: false },
      },
      {
        ...axis,
        size: 52,
        splits: [0, 0.25, 0.5, 0.75, 1],
        values: (_, at) => at.map((share) => `${Math.round(share * 100)} %`),
        grid: { stroke: colours.line, width: 1 },
      },
    ],
    series: [
      {},
      {
        stroke: colours.mark,
        width: joined ? 2 : 0,
        ...(joined ? {} : { paths: () => null }),
        points: { show: points.length <= 120 || !joined, size: 7, fill: colours.mark, stroke: colours.mark },
      },
    ],
    hooks: { setCursor: [(self) => onPoint(self.cursor.idx ?? null)] },
  };
  return new uPlot(options, [points.map((_, index) => index), points.map((point) => point.rate)], place);
}

/** What the style's variables come to here and now. */
function coloursOf(place: HTMLElement): { text: string; line: string; mark: string } {
  const probe = document.createElement("span");
  place.append(probe);
  const read = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = { text: read("--text-soft"), line: read("--line"), mark: read("--brand") };
  probe.remove();
  return colours;
}
