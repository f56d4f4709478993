// Asking again what failed: sooner at first, and never all pages at once.

// How long to wait before attempt `failures` + 1; random is in [0, 1).
export const pause = (failures, random) => Math.min(15000, 500 * 2 ** failures) * (0.5 + random / 2);

export const rest = (failures) => new Promise((resolve) => setTimeout(resolve, pause(failures, Math.random())));

// Whoever is refused is refused again.
export const isFinal = (error) => error.status === 401 || error.status === 403;

// The first answer of ask (signal) that does not fail; null once `signal` aborts or the caller is refused.
export async function insist(ask, signal) {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      return await ask(signal);
    } catch (error) {
      if (isFinal(error)) return null;
    }
    await rest(failures);
  }
  return null;
}
