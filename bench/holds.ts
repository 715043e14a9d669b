/** How long the loop is held, in ms: the times between two of its turns, each weighed by its length. */
export function holds() {
  const times: number[] = [];
  let last = performance.now();
  let isOver = false;
  const look = () => {
    const now = performance.now();
    times.push(now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  return () => {
    isOver = true;
    const sorted = times.toSorted((a, b) => a - b);
    const whole = sorted.reduce((sum, ms) => sum + ms, 0);
    // A timer that falls due at any moment waits for the turn at hand.
    return (share: number) => {
      let passed = 0;
      for (const ms of sorted) {
        passed += ms;
        if (passed >= whole * share) return ms;
      }
      return Number.NaN;
    };
  };
}
