/**
 * Lint as an ordinary test: the rules of the layout, each a function from source files to problems. A problem names
 * file and line and says what to do.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export interface Source {
  /** From the root of the repository, with forward slashes. */
  path: string;
  text: string;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export function sourcesIn(...folders: string[]): Source[] {
  return folders.flatMap((folder) => {
    let names: string[] = [];
    try {
      names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
    } catch {
      return [];
    }
    return names
      .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
      .filter((path) => /\.(ts|tsx|js|md|txt|json|yaml|yml)$/.test(path) && !path.includes('node_modules/'))
      .sort()
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
  });
}

export const isTest = (path: string): boolean =>
  /^(test|bench)\//.test(path) || /\.test\.ts$|\/contract\.ts$/.test(path);

// --- imports point one way -------------------------------------------------------------------------------------------

/** Where a noun's interface lives; everything else in its folder is an implementation. */
const INTERFACES = [
  'src/store/store.ts',
  'src/forge/forge.ts',
  'src/forge/desk.ts',
  'src/agent/agent.ts',
  'src/workspace/workspace.ts',
  'src/process/process.ts',
  'src/sandbox/sandbox.ts',
  'src/gateway/gateway.ts',
  'src/git/git.ts',
  'src/git/repository.ts',
  'src/notify/notify.ts',
  'src/telemetry/telemetry.ts',
];

/** What a folder may import beside itself, `core` and `errors.ts`; a trailing slash is a whole folder. */
const MAY_IMPORT: Record<string, string[]> = {
  'src/git/': [],
  'src/process/': ['src/store/store.ts'],
  'src/sandbox/': ['src/process/'],
  'src/gateway/': [],
  'src/store/': [],
  'src/forge/': ['src/git/', 'src/process/', 'src/front-matter.ts'],
  'src/workspace/': ['src/git/', 'src/process/'],
  'src/agent/': ['src/process/', 'src/sandbox/sandbox.ts', 'src/gateway/gateway.ts'],
  'src/notify/': ['src/process/process.ts'],
  'src/telemetry/': [],
  // Starts its attempts as the loop starts its commands.
  'src/attack/': ['src/process/inherited.ts', 'src/sandbox/sandbox.ts'],
  'src/config/': ['src/front-matter.ts'],
  'src/loop/': [...INTERFACES, 'src/front-matter.ts'],
  'src/cli/': ['src/operations.ts', 'src/operations/', 'src/view.ts', 'src/why.ts', 'src/context.ts'],
  'src/http/': ['src/operations.ts', 'src/operations/', 'src/view.ts', 'src/context.ts'],
  'src/mcp/': ['src/operations.ts', 'src/operations/', 'src/view.ts', 'src/context.ts'],
  'src/tui/': ['src/operations.ts', 'src/operations/', 'src/view.ts', 'src/context.ts'],
};

/** What `core` may import from outside: parsing and digests, nothing that reaches the world. */
const CORE_PACKAGES = ['zod', 'node:crypto'];

export function importProblems(sources: readonly Source[]): string[] {
  return sources.filter(({ path }) => path.startsWith('src/') && !isTest(path)).flatMap(importProblemsIn);
}

function importProblemsIn(source: Source): string[] {
  const { path } = source;
  const folder = Object.keys(MAY_IMPORT).find((name) => path.startsWith(name));
  return importsOf(source).flatMap(({ from, line, typeOnly }) => {
    const at = `${path}:${line}`;
    if (path.startsWith('src/core/')) {
      const allowed = from.startsWith('src/core/') || CORE_PACKAGES.includes(from);
      return allowed ? [] : [`${at} core imports only core (and ${CORE_PACKAGES.join(', ')}), not ${from}`];
    }
    if (!from.startsWith('src/') || path === 'src/main.ts') return [];
    if (isTest(from)) return [`${at} imports ${from}, which is for tests`];
    if (from.startsWith('src/core/') || from === 'src/errors.ts') return [];
    if (folder === undefined) {
      return isImplementation(from) ? [`${at} names the implementation ${from}; only src/main.ts may`] : [];
    }
    if (from.startsWith(folder)) return [];
    const allowed = MAY_IMPORT[folder]!.some((one) =>
      one.endsWith('/') ? from.startsWith(one) : from === one,
    );
    if (allowed || (typeOnly && isContract(from))) return [];
    return [
      `${at} ${folder} may not import ${from}; what it needs comes through ${MAY_IMPORT[folder]!.join(', ') || 'core'}`,
    ];
  });
}

/** A type costs nothing at run time and couples only to what is promised. */
const isContract = (path: string): boolean => INTERFACES.includes(path) || path.startsWith('src/loop/');

const isImplementation = (path: string): boolean =>
  !INTERFACES.includes(path) && INTERFACES.some((one) => path.startsWith(`${dirname(one)}/`));

export interface Import {
  /** A package, or a file from the root of the repository. */
  from: string;
  line: number;
  typeOnly: boolean;
}

/** Static and dynamic imports, re-exports, and files named by a relative URL. */
export function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  visit(source, (node, lineOf) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
      const { moduleSpecifier } = node;
      if (!moduleSpecifier || !ts.isStringLiteral(moduleSpecifier)) return;
      const clause = ts.isImportDeclaration(node) ? node.importClause : node;
      found.push({
        from: resolved(source.path, moduleSpecifier.text),
        line: lineOf(),
        typeOnly: clause?.isTypeOnly ?? false,
      });
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      const { literal } = node.argument;
      if (ts.isStringLiteral(literal))
        found.push({ from: resolved(source.path, literal.text), line: lineOf(), typeOnly: true });
    } else if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const [first] = node.arguments ?? [];
      const isImport = node.expression.kind === ts.SyntaxKind.ImportKeyword;
      const isUrl = ts.isNewExpression(node) && node.expression.getText() === 'URL';
      if (first && ts.isStringLiteralLike(first) && (isImport || (isUrl && first.text.startsWith('.')))) {
        found.push({ from: resolved(source.path, first.text), line: lineOf(), typeOnly: false });
      }
    }
  });
  return found;
}

const resolved = (path: string, specifier: string): string =>
  specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier;

// --- core is pure ----------------------------------------------------------------------------------------------------

const IMPURE: readonly { names: RegExp; say: string }[] = [
  { names: /^Date\.now$|^new Date\(\)$|^Date\(\)$|^performance(\.|$)/, say: 'time is an argument' },
  {
    names: /^Math\.random$|^(crypto\.)?(randomUUID|randomBytes|randomInt|getRandomValues)$/,
    say: 'randomness is an argument',
  },
  {
    names: /^(setTimeout|setInterval|setImmediate|queueMicrotask|process|console|fetch|globalThis)$/,
    say: 'core does no I/O',
  },
];

export function purityProblems(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => path.startsWith('src/core/') && !isTest(path))
    .flatMap((source) => {
      const problems: string[] = [];
      visit(source, (node, lineOf) => {
        const name = impureName(node);
        const rule = name === null ? undefined : IMPURE.find(({ names }) => names.test(name));
        if (rule) problems.push(`${source.path}:${lineOf()} ${name}: ${rule.say}`);
      });
      return problems;
    });
}

/** The way a node would reach for the world, as text; null for everything else. */
function impureName(node: ts.Node): string | null {
  if (ts.isPropertyAccessExpression(node)) return node.getText().replace(/\s/g, '');
  if (ts.isNewExpression(node))
    return (node.arguments?.length ?? 0) === 0 ? `new ${node.expression.getText()}()` : null;
  if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
    return node.expression.text === 'Date' ? 'Date()' : node.expression.text;
  }
  if (!ts.isIdentifier(node)) return null;
  // The same word as a property or as a name of ours is innocent: `limits.process`, `{ process: 1 }`.
  const { parent } = node;
  const isOwnName =
    (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
    (ts.isPropertyAssignment(parent) && parent.name === node) ||
    (ts.isPropertySignature(parent) && parent.name === node) ||
    ts.isCallExpression(parent) ||
    ts.isImportSpecifier(parent);
  return isOwnName && !(ts.isImportSpecifier(parent) && /^random/.test(node.text)) ? null : node.text;
}

// --- what an agent left is a stranger's ----------------------------------------------------------------------------------

const READING = /^(readFile|createReadStream|readdir|opendir|open|copyFile|cp|glob)(Sync)?$/;

/** Who may open files by themselves, and whose those are. Everybody else reads by `stranger-files.ts`. */
const OWN_READERS: Record<string, string> = {
  'src/agent/stranger-files.ts': 'it is what the others read by',
  'src/agent/replace-file.ts': 'it follows no link, waits for nobody and has a limit',
  'src/agent/result-file.ts': 'it follows no link, waits for nobody and has a limit',
  'src/agent/turn-record.ts': 'beside the session, where nothing confined can write',
  'src/agent/script.ts': "the operator's",
  'src/agent/skills.ts': "the operator's, copied beside the session, where nothing confined can write",
  'src/agent/install-hint.ts': 'installed packages',
  'src/agent/program-path.ts': 'installed packages',
  'src/agent/acp/presets.ts': 'installed packages',
  'src/agent/claude/sdk.ts': 'installed packages',
  'src/agent/codex/program.ts': 'installed packages',
  'src/agent/claude/credential.ts': "the operator's",
  'src/agent/codex/credential.ts': "the operator's",
  'src/agent/opencode/provider.ts': "the operator's",
};

export function readingProblems(
  sources: readonly Source[],
  allowed: readonly string[] = Object.keys(OWN_READERS),
): string[] {
  const readers = sources.filter(
    ({ path }) => path.startsWith('src/agent/') && path.endsWith('.ts') && !isTest(path),
  );
  const found = readers.flatMap((source) => {
    const problems: string[] = [];
    visit(source, (node, lineOf) => {
      if (!ts.isImportDeclaration(node) || node.importClause?.isTypeOnly) return;
      for (const name of readingNames(node))
        problems.push(`${source.path}:${lineOf()} ${name}: read it by stranger-files.ts`);
    });
    return problems.map((problem) => ({ path: source.path, problem }));
  });
  const unused = allowed.filter((path) => !found.some((one) => one.path === path));
  return [
    ...found.filter(({ path }) => !allowed.includes(path)).map(({ problem }) => problem),
    ...unused.map((path) => `${path}:1 reads no files: take it off the list`),
  ];
}

/** Of the file system as a whole nobody can tell what is done with it. */
function readingNames({ moduleSpecifier, importClause }: ts.ImportDeclaration): string[] {
  const from = (moduleSpecifier as ts.StringLiteral).text;
  if (from === 'libsql') return [from];
  if (!/^node:fs(\/promises)?$/.test(from)) return [];
  const named = importClause?.namedBindings;
  if (importClause?.name || !named || !ts.isNamedImports(named)) return [from];
  return named.elements
    .filter(({ isTypeOnly }) => !isTypeOnly)
    .map(({ propertyName, name }) => (propertyName ?? name).text)
    .filter((name) => READING.test(name));
}

// --- nothing is left over ----------------------------------------------------------------------------------------------

/** Started from outside: the program, the agent that is a process of its own, the writer of docs/configuration.md. */
const ENTRIES = ['src/main.ts', 'src/agent/scripted-program.js', 'src/config/reference.ts'];

/** Exported names that no other file imports. */
export function unusedExportProblems(sources: readonly Source[]): string[] {
  const code = sources.filter(({ path }) => /\.(ts|tsx|js)$/.test(path));
  const imported = new Set(code.flatMap(importedNames));
  return sources
    .filter(({ path }) => path.startsWith('src/') && path.endsWith('.ts') && !isTest(path))
    .flatMap((source) => {
      const name = posix.basename(source.path, '.ts');
      // Only the text can tell where all of it is imported, in comments of JavaScript, and in programs that tests write.
      const mentions = ({ path, text }: Source): boolean =>
        imported.has(`${path} * ${source.path}`) ||
        text.includes(`/${name}.js'`) ||
        (path.endsWith('.js') && text.includes(`/${name}.ts'`));
      const others = code.filter((other) => other !== source && mentions(other));
      return exportsOf(source).flatMap(({ name: what, line }) => {
        const word = new RegExp(`\\b${what}\\b`);
        return imported.has(`${what} of ${source.path}`) || others.some(({ text }) => word.test(text))
          ? []
          : [`${source.path}:${line} nobody imports ${what}`];
      });
    });
}

/** `name of file`; and `path * file` where it takes in the whole file. */
function importedNames(source: Source): string[] {
  const found: string[] = [];
  visit(source, (node) => {
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      const { literal } = node.argument;
      if (!ts.isStringLiteral(literal)) return;
      const from = resolved(source.path, literal.text);
      found.push(node.qualifier ? `${node.qualifier.getText()} of ${from}` : `${source.path} * ${from}`);
    } else if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
      if (!node.moduleSpecifier || !ts.isStringLiteral(node.moduleSpecifier)) return;
      const from = resolved(source.path, node.moduleSpecifier.text);
      const named = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause;
      if (named && (ts.isNamedImports(named) || ts.isNamedExports(named)))
        for (const one of named.elements) found.push(`${(one.propertyName ?? one.name).text} of ${from}`);
      else found.push(`${source.path} * ${from}`);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [first] = node.arguments;
      if (first && ts.isStringLiteralLike(first))
        found.push(`${source.path} * ${resolved(source.path, first.text)}`);
    }
  });
  return found;
}

function exportsOf(source: Source): { name: string; line: number }[] {
  const found: { name: string; line: number }[] = [];
  visit(source, (node, lineOf) => {
    if (!ts.canHaveModifiers(node) || !isTopLevel(node)) return;
    if (!ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return;
    const declared = ts.isVariableStatement(node) ? node.declarationList.declarations : [node];
    for (const { name } of declared as { name?: ts.Node }[])
      if (name && ts.isIdentifier(name)) found.push({ name: name.text, line: lineOf() });
  });
  return found;
}

const isTopLevel = ({ parent }: ts.Node): boolean => ts.isSourceFile(parent);

export function orphanProblems(sources: readonly Source[]): string[] {
  const byTests = new Set<string>();
  const byCode = new Set<string>(ENTRIES);
  for (const source of sources) {
    if (!/\.(ts|tsx|js)$/.test(source.path)) continue;
    for (const { from } of importsOf(source)) {
      if (from === source.path) continue;
      byTests.add(from);
      if (!isTest(source.path)) byCode.add(from);
    }
  }
  return sources
    .filter(({ path }) => path.startsWith('src/') && /\.(ts|tsx|js)$/.test(path) && !/\.test\.ts$/.test(path))
    .filter(({ path }) => !(isTest(path) ? byTests : byCode).has(path))
    .map(({ path }) => `${path}:1 nobody imports it${byTests.has(path) ? ' but tests' : ''}`);
}

// --- a role is a row ---------------------------------------------------------------------------------------------------

/** What a role is asked for by name is said in its row; the demo plays the parts itself. */
export function roleProblems(sources: readonly Source[]): string[] {
  return linesMatching(
    sources.filter(({ path }) => /^src\/(?!cli\/demo\/)/.test(path) && !isTest(path)),
    /\brole [!=]== '(specifier|coder|critic|auditor|planner)'/,
    'ask the row of core/role.ts',
  );
}

// --- words ---------------------------------------------------------------------------------------------------------------

export function markerProblems(sources: readonly Source[]): string[] {
  const marker = new RegExp(`\\b(${['TO', 'FIX'].map((half, n) => half + ['DO', 'ME'][n]).join('|')})\\b`);
  return linesMatching(
    sources.filter(({ path }) => path.startsWith('src/')),
    marker,
    'finish it, or write an issue',
  );
}

/** A commit in a sentence has one length everywhere: `shortSha`. In a revision, a ref or a key it is whole. */
export function shaProblems(sources: readonly Source[]): string[] {
  const isOurs = ({ path }: Source): boolean =>
    /^(src|web)\//.test(path) && !isTest(path) && path !== 'src/core/words/short-sha.ts';
  return sources.filter(isOurs).flatMap((source) => {
    const problems: string[] = [];
    visit(source, (node, lineOf) => {
      const isCut = ts.isCallExpression(node) && /(^|\.|\b)\w*sha\.slice$/i.test(node.expression.getText());
      if (isCut || saysWholeSha(node) || (ts.isStringLiteralLike(node) && /%h\b/.test(node.text)))
        problems.push(`${source.path}:${lineOf()} a commit in a text: shortSha`);
    });
    return problems;
  });
}

function saysWholeSha(node: ts.Node): boolean {
  if (!ts.isTemplateExpression(node)) return false;
  const texts = [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
  const words = texts
    .join(' … ')
    .split(/\s+/)
    .filter((word) => /^[`'"(]?[A-Za-z]{2,}[`'").,:;]?$/.test(word));
  const named = node.templateSpans.some(({ expression }) => /(^|\.)(\w+S|s)ha$/.test(expression.getText()));
  return named && (words.length > 1 || texts.some((text) => text.includes('`')));
}

/** A test that is left out says why, in a comment on its line or the one above. */
export function skippedProblems(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => /\.test\.ts$|\/contract\.ts$/.test(path))
    .flatMap((source) => {
      const lines = source.text.split('\n');
      const problems: string[] = [];
      visit(source, (node, lineOf) => {
        if (!ts.isPropertyAccessExpression(node) || !/^(test|it|describe)\b/.test(node.getText())) return;
        const line = lineOf();
        const at = `${source.path}:${line}`;
        const hasReason =
          /\/\/ \S/.test(lines[line - 1] ?? '') || /^\s*(\/\/ \S|\*\/|\/\*\*)/.test(lines[line - 2] ?? '');
        if (node.name.text === 'only') problems.push(`${at} .only leaves every other test out`);
        else if (/^(skip|todo|skipIf|runIf)$/.test(node.name.text) && !hasReason)
          problems.push(`${at} .${node.name.text} without a comment that says why`);
      });
      return problems;
    });
}

/** Where this repository and its user live right now, and two folders nobody else would know. */
export function machinePathProblems(
  sources: readonly Source[],
  here: readonly string[] = [homedir(), ROOT],
): string[] {
  const known = [...here.map((path) => path.replace(/\/$/, '')), `/ro${'ot'}`, `/wo${'rk'}`].filter(
    (path) => path.length > 3,
  );
  const escaped = known.map((path) => path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return linesMatching(
    sources,
    new RegExp(`(^|[\\s"'\`(=:,])(${escaped.join('|')})/`),
    'a path of one machine',
  );
}

const VAGUE = /(^|-)(managers?|services?|helpers?|utils?|misc|common)(-|\.|$)/;

export function nameProblems(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap(({ path }) => {
      const name = posix.basename(path);
      if (VAGUE.test(name)) return [`${path}:1 name it after what it is, not after what it does for others`];
      return /^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.(ts|tsx|js)$/.test(name)
        ? []
        : [`${path}:1 files are kebab-case nouns`];
    });
}

function linesMatching(sources: readonly Source[], pattern: RegExp, say: string): string[] {
  return sources.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        pattern.test(line) ? [`${path}:${index + 1} ${say}: ${line.trim().slice(0, 80)}`] : [],
      ),
  );
}

const parsed = new WeakMap<Source, ts.SourceFile>();

function visit(source: Source, each: (node: ts.Node, lineOf: () => number) => void): void {
  const file =
    parsed.get(source) ?? ts.createSourceFile(source.path, source.text, ts.ScriptTarget.Latest, true);
  parsed.set(source, file);
  const walk = (node: ts.Node): void => {
    each(node, () => file.getLineAndCharacterOfPosition(node.getStart()).line + 1);
    ts.forEachChild(node, walk);
  };
  walk(file);
}

/** By their numbers: the behaviours of a list that tests are named for, as in `'… (loops 33)'`. A remark names none. */
export function namedBehaviours(tests: readonly Source[], list: string): number[] {
  const named = new RegExp(`\\(${list} ([\\d, ]+)\\)(?=['\`]| \\()`, 'g');
  const numbers = tests.flatMap(({ text }) =>
    [...text.matchAll(named)].flatMap(([, found]) => found!.split(',').map(Number)),
  );
  return [...new Set(numbers)].sort((a, b) => a - b);
}
