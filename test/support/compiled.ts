/** For tests that need a process of their own: a script of ours as JavaScript that plain `node` runs. */
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

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

/** A second of work for a script with all its imports, and tests ask for the same one again and again. */
const known = new Map<string, { text: string; imports: string[] }>();

function translated(file: string): { text: string; imports: string[] } {
  const before = known.get(file);
  if (before) return before;
  const source = readFileSync(join(root, file), 'utf8');
  const text = ts.transpileModule(source, { fileName: file, compilerOptions }).outputText;
  const imports = ts
    .preProcessFile(source)
    .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => normalize(join(dirname(file), fileName)));
  const made = { text, imports: [...new Set(imports)] };
  known.set(file, made);
  return made;
}

const scriptName = (file: string) => file.replace(/\.ts$/, '.js');

const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
};
