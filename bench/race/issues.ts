/** The ten issues of the race, and the fault that each meets; agent.sh plays them. */
export interface Issue {
  number: number;
  fault: string;
  title: string;
  body: string;
}

const FAULTS: readonly (readonly [fault: string, title?: string])[] = [
  ['none'],
  ['none'],
  ['kill -9 of the runner in the middle of the turn'],
  ['kill -9 of the runner; the agent finishes while no runner lives'],
  ['the provider answers 503 to everybody for 20 s'],
  ['the first answer makes the tests red'],
  ['clashes with the next one: each is green alone'],
  ['clashes with the one before'],
  [
    'hostile text in the issue',
    'Add `$(touch "$RACE/pwned")`; touch "$RACE/pwned" && echo "--no-verify" \'; touch pwned',
  ],
  ['the provider says: later, in 5 s'],
];

export const ISSUES: readonly Issue[] = FAULTS.map(([fault, title], index) => {
  const number = index + 1;
  return {
    number,
    fault,
    title: title ?? `Add item ${number}`,
    body: `Creates \`items/${number}\`, with an id of its own.`,
  };
});
