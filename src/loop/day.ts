/** The day around a time, by the clock of this machine: from midnight to midnight, also when a day has 23 or 25 hours. */
export function localDay(at: number): { startsAt: number; endsAt: number; name: string } {
  const date = new Date(at);
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  const two = (part: number): string => String(part).padStart(2, '0');
  return {
    startsAt: new Date(year, month, day).getTime(),
    endsAt: new Date(year, month, day + 1).getTime(),
    name: `${year}-${two(month + 1)}-${two(day)}`,
  };
}
