/**
 * Queries of every step. Building and compiling one takes longer than running it, so that is done once, with a mark in
 * the place of each value.
 */
import type { Compilable, CompiledQuery } from 'kysely';

/** `build` must use each value as it is: what it decides by them, or makes of them, is decided and made only once. */
export function prepared<Values extends object, Row>(
  build: (values: Values) => Compilable<Row>,
): (values: Values) => Compilable<Row> {
  let known: { compiled: CompiledQuery<Row>; names: (string | null)[] } | null = null;
  return (values) => ({
    compile: () => {
      known ??= withMarks(build, Object.keys(values));
      const { compiled, names } = known;
      const parameters = names.map((name, at) =>
        name === null ? compiled.parameters[at] : values[name as keyof Values],
      );
      return { ...compiled, parameters };
    },
  });
}

function withMarks<Values extends object, Row>(
  build: (values: Values) => Compilable<Row>,
  names: readonly string[],
): { compiled: CompiledQuery<Row>; names: (string | null)[] } {
  const byMark = new Map(names.map((name) => [`\0${name}`, name]));
  const marks = Object.fromEntries([...byMark].map(([mark, name]) => [name, mark]));
  const compiled = build(marks as Values).compile();
  return { compiled, names: compiled.parameters.map((value) => byMark.get(String(value)) ?? null) };
}
