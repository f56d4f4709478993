// Places labels beside their points so that none covers another or a point. A label without such a place is hidden until its point is
// pointed at.
const overlap = (a, b) =>
  Math.max(0, Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x)) *
  Math.max(0, Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y));

const NEAR = 80;

// Away from its neighbours first: 1 = to the right.
const sideOf = (point, points) => {
  const near = points.filter((other) => Math.hypot(other.x - point.x, other.y - point.y) < NEAR);
  return near.reduce((sum, { x }) => sum + point.x - x, 0) < 0 ? -1 : 1;
};

function* places(point, label, side) {
  const beside = (near, turn) => (turn > 0 ? point.x + near : point.x - near - label.w);
  for (const reach of [0, 1.2, 2.4, 3.8]) {
    const dy = reach * label.h;
    const near = point.r + 3 + dy / 2;
    for (const turn of [0, -1, 1])
      for (const way of [side, -side]) yield { x: beside(near, way), y: point.y - label.h / 2 + turn * dy };
    yield { x: point.x - label.w / 2, y: point.y - point.r - 3 - dy - label.h };
    yield { x: point.x - label.w / 2, y: point.y + point.r + 3 + dy };
  }
}

// Moves points apart until none covers another: neighbours closer than their discs stay as close as those allow.
export function spread(points) {
  const moved = points.map((point) => ({ ...point }));
  for (let round = 0; round < 200; round++) {
    let calm = true;
    for (let i = 0; i < moved.length; i++)
      for (let k = 0; k < i; k++) {
        const [a, b] = [moved[i], moved[k]];
        const length = Math.hypot(a.x - b.x, a.y - b.y);
        const lack = a.r + b.r - length;
        if (lack <= 0.01) continue;
        const [dx, dy] = length > 0 ? [(a.x - b.x) / length, (a.y - b.y) / length] : [1, 0];
        calm = false;
        a.x += (dx * lack) / 2;
        a.y += (dy * lack) / 2;
        b.x -= (dx * lack) / 2;
        b.y -= (dy * lack) / 2;
      }
    if (calm) break;
  }
  return moved;
}

// points: {x, y, r}; labels: {w, h} of each. Returns {x, y, w, h, far} of each: x and y are of its top left corner, far
// says that a line should lead to it, hidden that there is no place for it.
export function placeLabels(points, labels, { width, height }) {
  const blocked = points.map(({ x, y, r }) => ({ x: x - r, y: y - r, w: 2 * r, h: 2 * r }));
  return points.map((point, i) => {
    let best = null;
    for (const place of places(point, labels[i], sideOf(point, points))) {
      const box = { ...place, w: labels[i].w, h: labels[i].h };
      const outside = box.x < 0 || box.y < 0 || box.x + box.w > width || box.y + box.h > height;
      const cost = blocked.reduce((sum, other) => sum + overlap(box, other), outside ? 1e6 : 0);
      if (!best || cost < best.cost) best = { box, cost };
      if (cost === 0) break;
    }
    const { box, cost } = best;
    if (cost > 0) return { ...box, far: false, hidden: true };
    blocked.push(box);
    const gap = Math.hypot(
      Math.max(box.x - point.x, 0, point.x - box.x - box.w),
      Math.max(box.y - point.y, 0, point.y - box.y - box.h),
    );
    return { ...box, far: gap > point.r + 6, hidden: false };
  });
}
