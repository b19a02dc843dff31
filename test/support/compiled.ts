/** For tests that need a process of their own: a script of ours as JavaScript that plain `node` runs. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, type TransformOptions, transformSync } from 'rolldown/utils';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Compiles a file, named from the root of the project, with all it imports; `folder` is the caller's to remove. */
export function compiled(script: string): { folder: string; script: string } {
  const folder = mkdtempSync(join(tmpdir(), 'forge-compiled-'));
  const waiting = [script];
  for (const file of waiting) {
    const { text, imports } = translated(file);
    const target = join(folder, scriptName(file));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
    waiting.push(...imports.filter((one) => !waiting.includes(one)));
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  return { folder, script: join(folder, scriptName(script)) };
}

/** What was translated for one test of this process serves the next ones. */
const known = new Map<string, { text: string; imports: string[] }>();

function translated(file: string): { text: string; imports: string[] } {
  const before = known.get(file);
  if (before) return before;
  const { code: text, errors } = transformSync(file, readFileSync(join(root, file), 'utf8'), options);
  if (errors.length > 0) throw new Error(`${file} can't be translated: ${errors[0]?.message}`);
  const imports = importsIn(text)
    .filter((name) => name.startsWith('.'))
    .map((name) => sourceOf(normalize(join(dirname(file), name))));
  const made = { text, imports: [...new Set(imports)] };
  known.set(file, made);
  return made;
}

function importsIn(text: string): string[] {
  const { staticImports, staticExports, dynamicImports } = parseSync('translated.js', text).module;
  return [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) => entries.flatMap((one) => one.moduleRequest?.value ?? [])),
    // A literal comes with its quotes; what is computed is not ours.
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start + 1, end - 1)),
  ];
}

const scriptName = (file: string) => file.replace(/\.ts$/, '.js');

function sourceOf(script: string): string {
  const source = script.replace(/\.js$/, '.ts');
  return existsSync(join(root, source)) ? source : script;
}

const options: TransformOptions = {
  target: 'es2023',
  typescript: { onlyRemoveTypeImports: true, rewriteImportExtensions: 'rewrite' },
};
