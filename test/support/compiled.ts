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
    const text = readFileSync(join(root, file), 'utf8');
    const target = join(folder, scriptName(file));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, ts.transpileModule(text, { fileName: file, compilerOptions }).outputText);
    for (const { fileName } of ts.preProcessFile(text).importedFiles) {
      const imported = normalize(join(dirname(file), fileName));
      if (fileName.startsWith('.') && !waiting.includes(imported)) waiting.push(imported);
    }
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  return { folder, script: join(folder, scriptName(script)) };
}

const scriptName = (file: string) => file.replace(/\.ts$/, '.js');

const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
};
