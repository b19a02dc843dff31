/** opencode's configuration is JSON with comments and trailing commas. Undefined for what is neither. */
export function readJsonc(text: string): unknown {
  try {
    return JSON.parse(withoutComments(text));
  } catch {
    return undefined;
  }
}

const withoutComments = (text: string): string =>
  text
    .replace(
      /("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
      (_, quoted: string | undefined) => quoted ?? '',
    )
    .replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, quoted: string | undefined) => quoted ?? '');
