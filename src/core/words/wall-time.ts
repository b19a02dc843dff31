/** Times as the clock on the wall shows them. Machines are told ISO, in `--json`. */

/** A moment as operations tell it. */
export const clock = (at: string): string => `${dayOf(Date.parse(at))} ${timeOf(Date.parse(at))}`;

export const timeOf = (at: number): string => new Date(at).toTimeString().slice(0, 8);

function dayOf(at: number): string {
  const date = new Date(at);
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Where the day goes without saying: a time of the same day as `at`. */
export const untilOf = (until: number, at: number): string =>
  dayOf(until) === dayOf(at) ? timeOf(until) : `${dayOf(until)} ${timeOf(until)}`;
