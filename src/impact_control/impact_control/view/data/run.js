// Plots of a recorded run that zoom together, and the arm at the time of their cursor. Times [s], lengths [m], frame A.
"use strict";
(() => {
  const run = JSON.parse(document.getElementById("run-content").textContent);
  const byId = (id) => document.getElementById(id);

  // ------------------------------------------------------------------ numbers

  function unpack(text, Kind) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Kind(bytes.buffer);
  }
  const floats = (text) => unpack(text, Float32Array);
  // uPlot leaves a gap at null, not at NaN.
  const withGaps = (values) => Array.from(values, (value) => (Number.isNaN(value) ? null : value));

  const time = Array.from(unpack(run.time, Float64Array));
  const first = time[0], last = time[time.length - 1];
  const impact = run.impact;
  const zero = impact === null ? 0 : impact;

  // Index of the last sample at or before a time, and how far it is on the way to the next.
  function place(at) {
    let low = 0, high = time.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (time[middle] <= at) low = middle; else high = middle;
    }
    const step = time[high] - time[low];
    return [low, high, step > 0 ? Math.min(Math.max((at - time[low]) / step, 0), 1) : 0];
  }
  function at(columns, [low, high, share]) {
    return columns.map((column) => {
      const before = column[low], after = column[high];
      return Number.isNaN(before) || Number.isNaN(after) ? before : before + share * (after - before);
    });
  }

  // ------------------------------------------------------------------ plots

  const shownJoints = run.joints.map(() => true);
  const charts = [];
  let range = [first, last];
  let now = impact === null ? first : impact;
  let following = false; // a chart is being moved by another
  let pointed = null; // the chart under the pointer

  function seconds(value) {
    if (impact === null) return value.toFixed(3) + " s";
    const since = 1e3 * (value - zero);
    return Math.abs(since).toFixed(1) + " ms " + (since < -0.05 ? "before" : "after") + " the impact";
  }
  // Close to the impact the axis counts from it.
  const close = (low, high) => impact !== null && high - low < 1.5;
  function splits(chart, axis, low, high, step) {
    const from = close(low, high) ? zero : 0, found = [];
    for (let k = Math.ceil((low - from) / step); from + k * step <= high; k++) found.push(from + k * step);
    return found;
  }
  function ticks(chart, places) {
    const near = places.length > 0 && close(chart.scales.x.min, chart.scales.x.max);
    return places.map((value) => (near ? +(1e3 * (value - zero)).toFixed(2) + " ms" : +value.toFixed(4) + " s"));
  }
  function shade(chart) {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.globalAlpha = 0.1;
    for (const mode of run.modes) {
      const start = chart.valToPos(mode.start, "x", true), end = chart.valToPos(mode.end, "x", true);
      ctx.fillStyle = mode.color;
      ctx.fillRect(start, bbox.top, end - start, bbox.height);
    }
    ctx.globalAlpha = 1;
    ctx.lineWidth = devicePixelRatio;
    ctx.strokeStyle = themed("--mark");
    for (const mark of run.marks) {
      const x = Math.round(chart.valToPos(mark.time, "x", true));
      ctx.setLineDash(mark.label === "contact" ? [] : [4 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }
  // Above the plot; marks too close to each other for their labels share that of the first.
  function nameMarks(chart) {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.font = 11 * devicePixelRatio + "px system-ui, sans-serif";
    ctx.fillStyle = themed("--mark");
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    let free = -Infinity;
    for (const mark of run.marks) {
      const x = chart.valToPos(mark.time, "x", true);
      if (x < Math.max(bbox.left, free) || x > bbox.left + bbox.width) continue;
      ctx.fillText(mark.label, x, bbox.top);
      free = x + ctx.measureText(mark.label).width + 8 * devicePixelRatio;
    }
    ctx.restore();
  }

  function followZoom(chart, key) {
    if (key !== "x" || following) return;
    const { min, max } = chart.scales.x;
    if (min === null || max === null || (min === range[0] && max === range[1])) return;
    zoom(min, max);
  }
  function zoom(min, max) {
    following = true;
    range = [min, max];
    for (const chart of charts) chart.setScale("x", { min, max });
    following = false;
  }
  function followCursor(chart) {
    const { left } = chart.cursor;
    if (following || left === undefined || left === null || left < 0 || chart !== pointed) return;
    if (playing) pause();
    show(chart.posToVal(left, "x"), chart);
  }

  function yRange(plot) {
    return (chart, low, high) => {
      if (low === null || high === null) return [-1, 1];
      // The peak of an impact hides the force that is held, but where one zooms into it.
      if (plot.top && range[1] - range[0] > 0.05) high = Math.min(high, plot.top);
      const margin = Math.max(0.06 * (high - low), 1e-6);
      return [low - margin, high + margin];
    };
  }

  // Light or dark, as the page is when it draws.
  const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const rule = { stroke: () => themed("--line") };
  const axis = { stroke: () => themed("--soft"), grid: rule, ticks: rule };

  function makeChart(plot, number) {
    const title = document.createElement("h3"), holder = document.createElement("div");
    title.textContent = plot.title + " [" + plot.unit + "]";
    byId("run-plots").append(title, holder);
    const lines = plot.lines.map((line) => ({
      label: line.dashed && plot.of_joints ? line.label + " ref." : line.label,
      stroke: line.color || (() => themed("--ink")),
      width: line.dashed ? 1.1 : 1.5,
      dash: line.dashed ? [5, 4] : undefined,
      points: { show: false },
      value: (chart, value) => (value === null || value === undefined ? "-" : String(+value.toPrecision(4))),
    }));
    const options = {
      width: holder.clientWidth,
      height: 190,
      cursor: { drag: { x: true, y: false }, y: false },
      legend: { live: true },
      scales: { x: { time: false }, y: { range: yRange(plot) } },
      axes: [{ splits, values: ticks, size: 32, ...axis }, { size: 58, ...axis }],
      series: [{ label: "time", value: (chart, value) => (value === null || value === undefined ? "-" : seconds(value)) }, ...lines],
      hooks: { drawClear: [shade], draw: number === 0 ? [nameMarks] : [], setScale: [followZoom], setCursor: [followCursor] },
    };
    const chart = new uPlot(options, [time, ...plot.lines.map((line) => withGaps(floats(line.values)))], holder);
    chart.over.addEventListener("dblclick", () => zoom(first, last));
    chart.over.addEventListener("pointerenter", () => { pointed = chart; });
    chart.over.addEventListener("pointerleave", () => { pointed = null; });
    if (plot.of_joints) {
      // The references have the colours of their joints, and the boxes above the plots choose both.
      const legend = chart.root.querySelector(".u-legend");
      legend.style.pointerEvents = "none";
      legend.querySelectorAll(".u-series").forEach((entry, i) => { if (i > run.joints.length) entry.style.display = "none"; });
    }
    new ResizeObserver(() => chart.setSize({ width: holder.clientWidth, height: 190 })).observe(holder);
    return chart;
  }

  run.plots.forEach((plot, number) => charts.push(makeChart(plot, number)));

  run.joints.forEach((joint, number) => {
    const label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.checked = true;
    label.style.color = joint.color;
    label.append(box, " " + joint.name);
    box.addEventListener("change", () => {
      shownJoints[number] = box.checked;
      run.plots.forEach((plot, k) => {
        if (!plot.of_joints) return;
        plot.lines.forEach((line, i) => {
          if (i % run.joints.length === number) charts[k].setSeries(i + 1, { show: box.checked });
        });
      });
    });
    byId("run-joints").append(label);
  });

  // ------------------------------------------------------------------ geometry

  const add = (a, b) => a.map((value, i) => value + b[i]);
  const scaled = (a, factor) => a.map((value) => factor * value);
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const size = (a) => Math.sqrt(dot(a, a));
  // Rotations are nine numbers, row by row.
  const turn = (r, a) => [0, 3, 6].map((i) => r[i] * a[0] + r[i + 1] * a[1] + r[i + 2] * a[2]);
  const product = (r, s) => [0, 3, 6].flatMap((i) => [0, 1, 2].map((j) => r[i] * s[j] + r[i + 1] * s[3 + j] + r[i + 2] * s[6 + j]));
  function about(axis, angle) { // Rodrigues
    const [x, y, z] = axis, c = Math.cos(angle), s = Math.sin(angle), v = 1 - c;
    return [c + v * x * x, v * x * y - s * z, v * x * z + s * y, v * x * y + s * z, c + v * y * y, v * y * z - s * x, v * x * z - s * y, v * y * z + s * x, c + v * z * z];
  }
  function ofQuaternion([x, y, z, w]) {
    return [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)];
  }

  const arms = run.arms.map((arm) => ({ ...arm, position: arm.position.map(floats), force: arm.force && arm.force.map(floats) }));
  const boxes = run.boxes.map((box) => ({ ...box, course: box.course && box.course.map(floats) }));

  // Frames of the links, 0 the world.
  function frames(arm, q) {
    const found = [{ rotation: [1, 0, 0, 0, 1, 0, 0, 0, 1], origin: [0, 0, 0] }];
    arm.joints.forEach((joint, i) => {
      const parent = found[i];
      found.push({
        rotation: product(product(parent.rotation, joint.rotation), about(joint.axis, q[i])),
        origin: add(parent.origin, turn(parent.rotation, joint.translation)),
      });
    });
    return found;
  }

  // ------------------------------------------------------------------ the stage

  const canvas = document.querySelector("#run-stage canvas"), pen = canvas.getContext("2d");
  const view = { turned: -0.95, raised: 0.38, distance: run.arms.length > 1 ? 3.4 : 2.2 };

  function camera() {
    const [c, s] = [Math.cos(view.raised), Math.sin(view.raised)];
    const back = [c * Math.cos(view.turned), c * Math.sin(view.turned), s];
    const right = [-Math.sin(view.turned), Math.cos(view.turned), 0];
    const up = cross(back, right), eye = add(run.focus, scaled(back, view.distance));
    const zoomed = 1.5 * Math.min(canvas.height, canvas.width);
    return (point) => {
      const way = add(point, scaled(eye, -1)), depth = Math.max(-dot(way, back), 0.05);
      return { x: canvas.width / 2 + (zoomed * dot(way, right)) / depth, y: canvas.height / 2 - (zoomed * dot(way, up)) / depth, depth, scale: zoomed / depth };
    };
  }
  function polygon(see, corners, fill, edge) {
    const points = corners.map(see);
    pen.beginPath();
    points.forEach((point, i) => (i ? pen.lineTo(point.x, point.y) : pen.moveTo(point.x, point.y)));
    pen.closePath();
    pen.fillStyle = fill;
    pen.fill();
    pen.strokeStyle = edge;
    pen.lineWidth = devicePixelRatio;
    pen.stroke();
  }
  function bar(see, start, end, radius, color) {
    const a = see(start), b = see(end), width = radius * (a.scale + b.scale);
    pen.lineCap = "round";
    for (const [extra, ink] of [[3 * devicePixelRatio, "#39424d"], [0, color]]) {
      pen.strokeStyle = ink;
      pen.lineWidth = width + extra;
      pen.beginPath();
      pen.moveTo(a.x, a.y);
      pen.lineTo(b.x + 0.01, b.y);
      pen.stroke();
    }
  }
  const middleDepth = (see, points) => points.reduce((sum, point) => sum + see(point).depth, 0) / points.length;

  function boxFaces(box, where) {
    // The last sample: a quaternion has two signs.
    const pose = box.course ? at(box.course, [where[0], where[0], 0]) : box.pose;
    if (pose.some(Number.isNaN)) return [];
    const rotation = ofQuaternion(pose.slice(3)), half = scaled(box.size, 0.5);
    const corner = (i, j, k) => add(pose.slice(0, 3), turn(rotation, [i * half[0], j * half[1], k * half[2]]));
    const faces = [];
    for (const side of [-1, 1]) {
      faces.push([corner(side, -1, -1), corner(side, 1, -1), corner(side, 1, 1), corner(side, -1, 1)]);
      faces.push([corner(-1, side, -1), corner(1, side, -1), corner(1, side, 1), corner(-1, side, 1)]);
      faces.push([corner(-1, -1, side), corner(1, -1, side), corner(1, 1, side), corner(-1, 1, side)]);
    }
    return faces;
  }

  function arrow(see, foot, force) {
    const strength = size(force);
    if (!(strength >= 1)) return;
    const tip = add(foot, scaled(force, (0.45 * (1 - Math.exp(-strength / 80))) / strength));
    const a = see(foot), b = see(tip), angle = Math.atan2(b.y - a.y, b.x - a.x), head = 9 * devicePixelRatio;
    pen.strokeStyle = pen.fillStyle = "#c0392b";
    pen.lineWidth = 3 * devicePixelRatio;
    pen.beginPath();
    pen.moveTo(a.x, a.y);
    pen.lineTo(b.x, b.y);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(b.x + head * Math.cos(angle), b.y + head * Math.sin(angle));
    for (const side of [2.5, -2.5]) pen.lineTo(b.x + head * Math.cos(angle + side), b.y + head * Math.sin(angle + side));
    pen.fill();
    pen.font = "600 " + 13 * devicePixelRatio + "px system-ui, sans-serif";
    pen.fillText(strength.toFixed(0) + " N", b.x + head, b.y - head);
  }

  function draw() {
    const see = camera(), where = place(now), parts = [], arrows = [], ground = themed("--ground");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    for (let i = -10; i <= 10; i++) {
      for (const [a, b] of [[[i / 5, -2, 0], [i / 5, 2, 0]], [[-2, i / 5, 0], [2, i / 5, 0]]]) {
        const [p, q] = [see(a), see(b)];
        pen.strokeStyle = ground;
        pen.lineWidth = devicePixelRatio;
        pen.beginPath();
        pen.moveTo(p.x, p.y);
        pen.lineTo(q.x, q.y);
        pen.stroke();
      }
    }
    // From the back to the front: a surface, large and flat, behind everything that stands on it.
    for (const surface of run.surfaces) {
      const [fill, edge] = surface.expected ? ["rgba(76,130,235,.25)", "#4c82eb"] : ["rgba(201,173,138,.85)", "#8f7450"];
      polygon(see, surface.corners, fill, edge);
    }
    for (const box of boxes) {
      const [fill, edge] = box.expected ? ["rgba(76,130,235,.18)", "#4c82eb"] : ["rgb(222,184,110)", "#8f7450"];
      for (const face of boxFaces(box, where)) parts.push([middleDepth(see, face), () => polygon(see, face, fill, edge)]);
    }
    for (const arm of arms) {
      const q = at(arm.position, where);
      if (q.some(Number.isNaN)) continue;
      const links = frames(arm, q);
      const seen = (link, point) => add(links[link].origin, turn(links[link].rotation, point));
      for (const capsule of arm.capsules) {
        const start = seen(capsule.link, capsule.start), end = seen(capsule.link, capsule.end);
        const color = capsule.link === 0 ? "#5b6673" : capsule.link % 2 ? "#eceef0" : "#b9c1ca";
        parts.push([middleDepth(see, [start, end]), () => bar(see, start, end, capsule.radius, color)]);
      }
      if (arm.force) arrows.push([seen(arm.joints.length, arm.contact), at(arm.force, [where[0], where[0], 0])]);
    }
    parts.sort((a, b) => b[0] - a[0]);
    for (const [, paint] of parts) paint();
    for (const [foot, force] of arrows) arrow(see, foot, force);
    const mode = run.modes.find((each) => each.start <= now && now < each.end);
    byId("run-clock").textContent = seconds(now) + (mode ? "\n" + mode.name : "");
  }

  // ------------------------------------------------------------------ time

  let playing = false, before = 0;

  function show(moment, leader) {
    now = Math.min(Math.max(moment, first), last);
    byId("run-slider").value = now;
    following = true;
    for (const chart of charts) if (chart !== leader) chart.setCursor({ left: chart.valToPos(now, "x"), top: 0 });
    following = false;
    draw();
  }
  function pause() {
    playing = false;
    byId("run-play").textContent = "Play";
  }
  function step(stamp) {
    if (!playing) return;
    show(now + (Number(byId("run-speed").value) * (stamp - before)) / 1e3);
    before = stamp;
    if (now >= Math.min(range[1], last)) pause();
    else requestAnimationFrame(step);
  }
  function play() {
    if (now >= Math.min(range[1], last) - 1e-6) now = range[0];
    playing = true;
    byId("run-play").textContent = "Pause";
    before = performance.now();
    requestAnimationFrame(step);
  }

  const slider = byId("run-slider");
  slider.min = first;
  slider.max = last;
  slider.addEventListener("input", () => { pause(); show(Number(slider.value)); });
  byId("run-play").addEventListener("click", () => (playing ? pause() : play()));
  byId("run-whole").addEventListener("click", () => {
    zoom(first, last);
    requestAnimationFrame(() => show(now)); // when the plots have their new scales
  });
  const near = byId("run-near");
  near.disabled = impact === null;
  near.addEventListener("click", () => {
    pause();
    zoom(impact - 0.02, impact + 0.08);
    requestAnimationFrame(() => show(impact - 0.02)); // when the plots have their new scales
  });

  let held = null;
  canvas.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    view.turned -= 0.008 * (event.clientX - held[0]);
    view.raised = Math.min(Math.max(view.raised + 0.008 * (event.clientY - held[1]), -0.2), 1.5);
    held = [event.clientX, event.clientY];
    draw();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // the page scrolls
    event.preventDefault();
    view.distance = Math.min(Math.max(view.distance * Math.exp(0.001 * event.deltaY), 0.5), 8);
    draw();
  }, { passive: false });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    charts.forEach((chart) => chart.redraw());
    draw();
  });
  new ResizeObserver(() => {
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = canvas.clientHeight * devicePixelRatio;
    draw();
  }).observe(canvas);
  requestAnimationFrame(() => show(now)); // when the plots have their scales
})();
