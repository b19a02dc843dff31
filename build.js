/** What `npm run build` makes of src/: a few files that load quickly. Why: docs/adr/0021-bundle.md. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { build as buildPages } from 'vite';

/** What `status` imports one after the other, each with all that it needs. */
const LOOKING = /src.(store.sqlite|config.load|git.worktrees|process.owner|workspace.paths|cli.status)\.ts$/;

await build({
  input: {
    main: 'src/main.ts',
    // Started as programs of their own, and found beside the code that starts them.
    'scripted-program': 'src/agent/scripted-program.js',
    'tool-dialogue-program': 'src/agent/tool-dialogue-program.js',
    'mcp-server-program': 'src/agent/mcp-server-program.js',
    'record-program': 'src/agent/opencode/record-program.js',
    'door-program': 'src/sandbox/door-program.js',
    'srt-program': 'src/sandbox/srt-program.js',
    // For whoever composes a runner with other timings than `main` does.
    runner: 'src/loop/runner.ts',
  },
  // What the package depends on, and what people install themselves.
  external:
    /^(libsql|liquidjs|pino|@anthropic-ai\/|@agentclientprotocol\/|@openai\/|@opentelemetry\/|opencode-ai)/,
  platform: 'node',
  // The same code as modules. What is published for Node is CommonJS: each part of it would be compiled twice at the start.
  resolve: { alias: { yaml: join(import.meta.dirname, 'node_modules/yaml/browser/dist/index.js') } },
  transform: { target: 'node20.19' },
  output: {
    dir: 'dist',
    cleanDir: true,
    sourcemap: true,
    // They are in src/, and take time to pass over.
    comments: false,
    // One ’ in a file, and all of it takes twice the memory.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
    // Everything is in one folder: a file that is named relative to `import.meta.url` is there.
    chunkFileNames: '[name]-[hash].js',
    // What nearly every command loads is two files: the rest is cut by what is imported when.
    codeSplitting: {
      groups: [
        { name: 'command-line', test: /src.cli.program\.ts$/, priority: 2 },
        { name: 'looking', test: LOOKING, priority: 1 },
      ],
    },
  },
  plugins: [licences()],
});

// The dashboard, which `src/http/pages.ts` serves. Why: docs/adr/0045-dashboard.md.
await buildPages({
  configFile: false,
  root: 'web',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    // An image in the text of a style would be a second thing that the policy for contents has to let through.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  plugins: [licences()],
});

/** The licences of the packages whose code is in the bundle: they ask to be passed on with it. */
function licences() {
  return {
    name: 'licences',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
      const packages = new Set(
        modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []),
      );
      const texts = [...packages].sort().map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
        const file = ['LICENSE', 'LICENSE.md', 'license', 'LICENSE.txt'].find((one) =>
          existsSync(join(folder, one)),
        );
        const text = file ? readFileSync(join(folder, file), 'utf8').trim() : `Licence: ${license}`;
        return `${name} ${version}\n\n${text}\n`;
      });
      this.emitFile({
        type: 'asset',
        fileName: 'LICENCES.txt',
        source: texts.join(`\n${'-'.repeat(72)}\n\n`),
      });
    },
  };
}
