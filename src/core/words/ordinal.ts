/** 1st, 2nd, 3rd, 4th. */
export function ordinal(number: number): string {
  const isTeen = number % 100 > 10 && number % 100 < 14;
  return `${number}${(isTeen ? null : ['th', 'st', 'nd', 'rd'][number % 10]) ?? 'th'}`;
}
