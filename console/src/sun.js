// Where the sun is overhead: a low-precision solar position from mean longitude, mean anomaly, equation of centre and
// obliquity.
const radians = Math.PI / 180;

// [longitude, latitude] in degrees at `time` (ms).
export function subsolarPoint(time) {
  const days = time / 86400000 - 10957.5; // since 2000-01-01 12:00 UTC
  const anomaly = (357.5291 + 0.98560028 * days) * radians;
  const centre = 1.9148 * Math.sin(anomaly) + 0.02 * Math.sin(2 * anomaly) + 0.0003 * Math.sin(3 * anomaly);
  const longitude = (280.4665 + 0.98564736 * days + centre) * radians;
  const obliquity = (23.4393 - 3.563e-7 * days) * radians;
  const declination = Math.asin(Math.sin(obliquity) * Math.sin(longitude));
  const ascension = Math.atan2(Math.cos(obliquity) * Math.sin(longitude), Math.cos(longitude));
  const sidereal = (280.46062 + 360.98564737 * days) % 360;
  const east = ascension / radians - sidereal;
  return [((((east + 180) % 360) + 360) % 360) - 180, declination / radians];
}

export const antipode = ([longitude, latitude]) => [longitude > 0 ? longitude - 180 : longitude + 180, -latitude];
