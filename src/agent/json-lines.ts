/** The records that agents keep of their sessions: files below a folder, a JSON object per line. */
import { strangeJson } from '../core/text/strange-json.ts';
import { entriesBelow } from './stranger-files.ts';

/** As paths below the root, in the order of their names; none when there is no such folder. */
export async function recordsBelow(root: string, folder: string): Promise<string[]> {
  const entries = await entriesBelow(root, folder);
  return entries.flatMap(({ name, isFile }) => (isFile && name.endsWith('.jsonl') ? [name] : []));
}

/** Null for half a line, which a kill may leave. */
export function parsedLine(line: string): unknown {
  try {
    return strangeJson(line);
  } catch {
    return null;
  }
}
