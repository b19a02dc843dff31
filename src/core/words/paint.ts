/** The colours of a text for people; a terminal has them, others take the words alone. */
export type Paint = Record<
  'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan',
  (text: string) => string
>;

const asItIs = (text: string): string => text;

export const PLAIN: Paint = {
  ...{ bold: asItIs, dim: asItIs, red: asItIs, green: asItIs, yellow: asItIs, blue: asItIs, cyan: asItIs },
};
