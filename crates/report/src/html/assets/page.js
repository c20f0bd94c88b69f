
// Makes the timelines live: one cursor and one stretch of time for all of them. Everything that is
// said on the page stands there without this. Gives the way to newer data.
const showData = (() => {
  "use strict";
  const root = document.documentElement;
  let data = {};

  const digits = (value) => {
    const size = Math.abs(value);
    if (size === 0 || size >= 100) return value.toFixed(0);
    return value.toFixed(size >= 10 ? 1 : size >= 0.01 ? 2 : 4);
  };
  // Ticks are round: their zeros say nothing.
  const short = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
  const scaled = (value, units) => {
    const [size, unit] = units.find(([size]) => Math.abs(value) >= size) ?? units[units.length - 1];
    return digits(value / size) + unit;
  };
  const words = {
    time: (ns) => scaled(ns, [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]]),
    rate: (rate) => scaled(rate, [[1e9, "G/s"], [1e6, "M/s"], [1e3, "k/s"], [1, "/s"]]),
    byte_rate: (rate) => scaled(rate, [[1e9, " GB/s"], [1e6, " MB/s"], [1e3, " kB/s"], [1, " B/s"]]),
    share: (share) => digits(share * 100) + " %",
    count: (count) => scaled(count, [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]),
  };
  const clock = (seconds) => {
    const whole = Math.max(0, Math.floor(seconds));
    const two = (number) => String(number).padStart(2, "0");
    const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
    if (hours) return `${hours}:${two(minutes)}:${two(whole % 60)}`;
    return minutes ? `${minutes}:${two(whole % 60)}` : `${digits(seconds)} s`;
  };
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  const sync = uPlot.sync("run");
  // By the timeline's id.
  const plots = new Map();
  // Where something begins, with its name if there is room for it.
  const border = ({ ctx, bbox }, left, right, label) => {
    const size = 11 * devicePixelRatio;
    ctx.globalAlpha = 1;
    ctx.font = `${size}px system-ui, sans-serif`;
    ctx.fillRect(left, bbox.top, devicePixelRatio, bbox.height);
    if (ctx.measureText(label).width + size > right - left) return;
    ctx.textAlign = "left";
    ctx.fillText(label, left, bbox.top - size / 2);
  };
  // What was not measured, and what is marked, lies behind the lines.
  const shade = (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.globalAlpha = 0.12;
    ctx.fillStyle = colour("--faint");
    const inside = (second) =>
      Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(second, "x", true)));
    const [from, to] = data.measured.map(inside);
    ctx.fillRect(bbox.left, bbox.top, from - bbox.left, bbox.height);
    ctx.fillRect(to, bbox.top, bbox.left + bbox.width - to, bbox.height);
    for (const [begin, end, tone, label] of data.marks) {
      ctx.fillStyle = colour(`--${tone}`);
      const [left, right] = [inside(begin), inside(end)];
      if (label) {
        border(plot, left, right, label);
        continue;
      }
      ctx.globalAlpha = 0.2;
      // An instant is as wide as a line.
      ctx.fillRect(left, bbox.top, Math.max(1.5, right - left), bbox.height);
    }
    ctx.restore();
  };

  // As pictures that are drawn without us have it, so that an instant stands at one place in all.
  const margin = (side) => {
    const drawn = [...document.querySelectorAll("#timelines svg[viewBox]")];
    const shown = drawn.find((svg) => svg.clientWidth > 0);
    return data.frame[side] * (shown ? shown.clientWidth / shown.viewBox.baseVal.width : 1);
  };
  // A second has one value over its whole length.
  const steps = uPlot.paths.stepped({ align: 1, alignGaps: 1 });

  const options = (timeline, width, hidden) => {
    const say = words[timeline.unit];
    const axis = {
      stroke: () => colour("--faint"),
      grid: { stroke: () => colour("--edge"), width: 1 },
      ticks: { show: false },
    };
    const line = (label, number) => ({
      label,
      stroke: () => colour(`--c${number % 8}`),
      width: 1.6,
      dash: timeline.wanted[number] ? [6, 5] : undefined,
      paths: steps,
      spanGaps: false,
      show: !hidden.includes(label),
      points: { show: false },
      value: (_, value) => (value == null ? "–" : say(value)),
    });
    return {
      width,
      height: 240,
      padding: [18, () => margin("right"), null, 0],
      scales: {
        x: { time: false, range: (_, min, max) => [min, max] },
        y: timeline.log
          ? { distr: 3 }
          : { range: (_, min, max) => [0, max > 0 ? max * 1.05 : 1] },
      },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => short(clock(tick))) },
        {
          ...axis,
          size: () => margin("left"),
          values: (_, ticks) => ticks.map((tick) => (tick == null ? "" : short(say(tick)))),
        },
      ],
      series: [
        { label: "at", value: (_, second) => (second == null ? "–" : clock(second)) },
        ...timeline.names.map(line),
      ],
      cursor: {
        sync: { key: sync.key },
        drag: { x: true, y: false },
        // The second below the pointer, not the one that begins nearest to it; none begins at the
        // end.
        dataIdx: ({ data: [starts] }, _, nearest, at) => {
          const begun = nearest > 0 && starts[nearest] > at ? nearest - 1 : nearest;
          return Math.min(begun, starts.length - 2);
        },
      },
      hooks: { drawClear: [shade] },
    };
  };

  const widthOf = (place) => Math.max(300, place.clientWidth);
  // What somebody looks at closer; nothing where it is all there is.
  const zoom = () => {
    const [drawn] = plots.values();
    if (!drawn) return;
    const { scales, data: values } = drawn.plot;
    const [first, last] = [values[0][0], values[0][values[0].length - 1]];
    const { min, max } = scales.x;
    if (min > first || max < last) return { min, max };
  };
  // A plot whose lines are the same goes on with new values.
  const draw = () => {
    const closer = zoom();
    for (const timeline of data.timelines ?? []) {
      const place = document.querySelector(`[data-timeline="${timeline.id}"] .picture`);
      if (!place) continue;
      // The last value holds until the end.
      const held = timeline.values.map((line) => [...line, line[line.length - 1]]);
      const values = [[...data.seconds, data.end], ...held];
      const lines = JSON.stringify([timeline.unit, timeline.log, timeline.names, timeline.wanted]);
      let drawn = plots.get(timeline.id);
      if (drawn?.lines === lines) {
        drawn.plot.setData(values);
      } else {
        const series = drawn?.plot.series ?? [];
        const hidden = series.filter(({ show }) => !show).map(({ label }) => label);
        drawn?.plot.destroy();
        place.replaceChildren();
        const plot = new uPlot(options(timeline, widthOf(place), hidden), values, place);
        drawn = { lines, plot };
        plots.set(timeline.id, drawn);
      }
      // Another run may not have come as far.
      if (closer && closer.max <= data.end) {
        drawn.plot.setScale("x", closer);
      }
    }
    root.classList.add("live");
  };
  // A timeline that another run does not have.
  const forget = () => {
    for (const [id, { plot }] of plots) {
      if (plot.root.isConnected) continue;
      plot.destroy();
      plots.delete(id);
    }
  };
  const show = (text) => {
    data = JSON.parse(text);
    forget();
    if (typeof uPlot !== "undefined") draw();
  };
  show(document.getElementById("data").textContent);

  const all = (act) => plots.forEach(({ plot }) => act(plot));
  const fit = () =>
    all((plot) => {
      const width = widthOf(plot.root.parentElement);
      if (width !== plot.width) plot.setSize({ width, height: 240 });
    });
  addEventListener("resize", fit);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    all((plot) => plot.redraw()),
  );

  // The heat map says what is below the pointer, or the finger; there is one for each width.
  const below = (heat, event) => {
    const { heat: map, seconds } = data;
    const { height, left, right, top, bottom } = data.frame;
    const width = heat.viewBox.baseVal.width;
    const first = seconds[0];
    const last = data.end;
    const ends = map.row_ends_ns;
    const growth = ends.length > 1 ? ends[1] / ends[0] : 1.26;
    const [low, high] = [Math.log10(ends[0] / growth), Math.log10(ends[ends.length - 1])];
    const box = heat.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * width;
    const y = ((event.clientY - box.top) / box.height) * height;
    const second = first + ((x - left) / (width - left - right)) * (last - first);
    const value = 10 ** (high - ((y - top) / (bottom - top)) * (high - low));
    const row = ends.findIndex((end) => end >= value);
    const column = map.columns.find(
      ({ second: from }) => from <= second && second < from + map.column_seconds,
    );
    const count = column?.counts[row];
    const from = row > 0 ? ends[row - 1] : 0;
    return count === undefined
      ? ""
      : `${clock(column.second)}: ${count} operations took ${words.time(from)} to ` +
          words.time(ends[row]);
  };
  const read = (event) => {
    const reading = document.querySelector("#heat .reading");
    const heat = event.target.closest?.("#heat svg");
    // What a finger found is read after it is lifted.
    if (reading && (heat || event.pointerType === "mouse")) {
      reading.textContent = heat ? below(heat, event) : "";
    }
  };
  addEventListener("pointerdown", read);
  addEventListener("pointermove", read);
  return show;
})();
